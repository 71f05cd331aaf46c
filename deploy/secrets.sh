#!/bin/sh
# Makes the passwords and keys of compose.yaml, once, below deploy/secrets. What is there
# is kept.
set -eu
cd "$(dirname "$0")"
if [ -e secrets ]; then
	echo "deploy/secrets is there already" >&2
	exit 0
fi
random() { od -An -N32 -tx1 /dev/urandom | tr -d ' \n'; }

umask 077
rm -rf secrets.tmp
mkdir secrets.tmp
postgres=$(random) s3=$(random)
printf '%s' "$postgres" >secrets.tmp/postgres_password
printf 'postgres:5432:hallmark:hallmark:%s\n' "$postgres" >secrets.tmp/pgpass
printf 'ROOT_ACCESS_KEY=hallmark\nROOT_SECRET_KEY=%s\n' "$s3" >secrets.tmp/s3_root.env
printf 'AWS_ACCESS_KEY_ID=hallmark\nAWS_SECRET_ACCESS_KEY=%s\n' "$s3" >secrets.tmp/s3_client.env
head -c 32 /dev/urandom >secrets.tmp/token_key
# The processes in the containers have users of their own, so the files are readable;
# the directory around them is not.
chmod 0444 secrets.tmp/*
mv secrets.tmp secrets
