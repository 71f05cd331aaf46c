// Uses what process tells of the machine.
const { env, argv, platform, version } = process;
exports.createPlugin = (server) => {
  const debug = process.env.DEBUG || env['NO' + 'DE_DEBUG'];
  if (platform === 'win32' || process.arch === 'arm64') process.exitCode = 1;
  process.nextTick(() => process.stdout.write(`${version} ${argv.slice(2).join(' ')} ${debug}\n`));
  process.stderr.write(String(process.memoryUsage().heapUsed) + process.hrtime.bigint() + process.uptime() + process.pid);
  return { cwd: process.cwd(), versions: process.versions.node, release: process.release.name, title: process.title };
};
