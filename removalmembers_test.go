package hallmark

// codecs are all types that files of the campaign are read into.
var codecs = []codec{
	{"hallmark.toml", "", "project.configTOML"},
	{"hallmark.lock", "", "project.lockWire"},
	{"hallmark.closures/*.json", "", "project.ParseClosure()"},
	{"hallmark.closures/*.json", "", "project.engineOf()"},
	{"hallmark.closures/*.json", "", "project.wheelsWire"},
	{"hallmark.closures/*.json", "", "project.modulesWire"},
	{".mcp.json.hallmark", "", "internal/clients.originalsWire"},
	{"cache/store/*/*/sidecar.json", "", "internal/store.sidecar"},
	{"state/logs.json", "", "project.Logs"},
	{"state/login.json", "", "..Session"},
	{"state/monitored", "", "..monitorWire"},
	{"state/plugins/ID.json", "", "project.Installs"},
	{"state/projects/ID/approvals.json", "", "project.Approvals"},
	{"state/projects/ID/drift-*.json", "", "project.DriftNote"},
	{"state/projects/ID/journal", "*", "internal/durable.File"},
	{"state/receipts/*", "", "project.Receipt"},
	{"state/materialized/*", "", "project.Materialized"},
	{"state/trusted-keys.json", "", "sign.keysWire"},
	{"plugins/*/mcp-plugin.json", "", "plugin.Manifest"},
	{"plugins/*/mcp-plugin.json", "", "plugin.wire"},
	{"plugins/*/mcp-plugin.json", "dist", "plugin.distWire"},
	{"plugins/*/install.lock.json", "", "project.InstallLock"},
	{"plugins/*/mcp-plugin.sig", "", "plugin.parseSignatureFile()"},
	{"answer /v0.1/servers/*/*/versions/*", "", "internal/registry.Envelope"},
	{"answer /v0.1/facets/*/versions/*", "", "internal/registry.ArchiveRecord"},
	{"answer /v0.1/facets/*/versions", "", "internal/registry.ArchivePage"},
	{"answer /v0.1/**/log", "", "internal/registry.RecordEntries"},
	{"database log_entries", "*/leaf", "ledger.leafJSON"},
}

// rareMembers are those that no world has.
var rareMembers = []rare{}

// unreadTypes are types with members that come from no file of the campaign.
var unreadTypes = []unread{
	{"cmd/internal/cli.*", "what commands print"},
	{"..Migrated ..Imported ..manifests ..Monitored ..Reverification ..ReverifiedRecord ..Scanned ..ScannedServer ..ScannedPackage ..VersionStatus ..Unpinned", "what commands print"},
	{"evidence.* policy.Finding policy.Verdict surface.* serverjson.Issue facet.Issue plugin.Issue", "what is printed or sent: a report, an issue, a difference"},
	{"..pythonAnswer ..pythonPackage ..askPerson() ..render() project.ParsePylock() project.ParsePipReport() project.hashed internal/registry/auth.*", "of programs that resolve, of logins and for clients: nothing was claimed of it before"},
	{"..lockedTrees() project.ParseLock() internal/store.parseSidecar()", "one member of a file that another type here reads as a whole"},
	{"..imagePlatform() serverjson.decode() ledger.StatusDocument() plugin.checksum", "of bytes whose digest is compared before they are read, or that are only written"},
	{"plugin.ParsePackageLock()", "a lock of npm in a plugin's source, for its author"},
	{"project.Variables project.Variable", "which variables a person agreed to send: with less of it they are asked for again, and nothing is sent"},
	{"internal/fetch.*", "the user's own configuration of other programs: hosts and credentials"},
	{"internal/guard.* internal/hashfile.*", "messages of a client or server, each judged by itself, and lines of an audit that are only written"},
	{"internal/registry.archiveAnswer internal/registry.UpdatedArchives internal/registry.SetArchiveStatus() internal/registry.GitHubClient() internal/registry.SetAllStatuses() internal/registry.DumpedArchive internal/registry.Page internal/registry.pingOutput internal/registry.About internal/registry.healthOutput internal/registry.Session internal/registry.githubInput internal/registry.oidcInput internal/registry.serverText internal/registry.Problem internal/registry.HashFailure internal/registry.ProblemError internal/registry.StatusBody internal/registry.Updated internal/registry.Validity", "requests to a registry and answers that vouch for nothing"},
	{"internal/registry.Policy", "the operator's own file, by which he decides what is taken"},
	{"internal/registry.Token", "rows of the registry, of which the campaign removes each column"},
}
