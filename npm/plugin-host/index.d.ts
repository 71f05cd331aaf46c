/** What a plugin may reach while it runs. */
export interface Rules {
  network: boolean;
  fsRead: boolean;
  fsWrite: boolean;
  exec: boolean;
  native: boolean;
  /** External packages: declared, and permitted by the host. */
  packages: string[];
}

/** The flags of source 002, by the names of the environment. */
export interface Flags {
  PLUGIN_ALLOW_RUNTIME_DEPS?: boolean;
  PLUGIN_ALLOW_NATIVE?: boolean;
  REQUIRE_SIGNATURES?: boolean;
  STRICT_CAPABILITIES?: boolean;
  STRICT_TOOLS?: boolean;
  STRICT_INTEGRITY?: boolean;
  SANDBOX_AVAILABLE?: boolean;
}

export interface Limits {
  /** Largest heap of a plugin, in bytes (tier 3); default 256 MiB. */
  heapBytes: number;
  /** Longest call of a tool, resource or prompt, and the processor's time for one (tier 3); default 30,000. Between calls a
   * plugin may use as much, and from then on a tenth of the processor. */
  callMillis: number;
  /** Longest start of a plugin; default 30,000. */
  startMillis: number;
  /** Largest message (tier 3); default 4 MiB. */
  messageBytes: number;
  /** Most messages in a second (tier 3); default 1000. */
  messagesPerSecond: number;
  /** Most calls that are not answered (tier 3); default 100. */
  pendingCalls: number;
}

/** A name, or an object with one. */
export type Capability = string | { name: string; [member: string]: unknown };

export interface Manifest {
  manifestVersion: '2';
  name: string;
  version: string;
  entry: string;
  capabilities?: { tools?: Capability[]; resources?: Capability[]; prompts?: Capability[] };
  dependencies?: string[];
  dependenciesPolicy?: 'bundled-only' | 'external-allowed' | 'external-allowlist' | 'sandbox-required';
  permissions?: { network?: boolean; fsRead?: boolean; fsWrite?: boolean; exec?: boolean };
  externalDependencies?: { name: string; version: string; optional?: boolean }[];
  [member: string]: unknown;
}

/** A plugin that was checked: what a tier opens. */
export interface Plugin {
  name: string;
  version: string;
  /** Verified private copy. */
  root: string;
  /** Relative to root. */
  entry: string;
  manifest: Manifest;
  rules: Rules;
  /** Directory of the host's @modelcontextprotocol/sdk. */
  sdk?: string;
  /** External packages at their declared versions, by name. */
  externals: Map<string, string>;
  limits: Limits;
  /** Directories beside its own that it may read with fsRead, and write with fsWrite (tier 3). */
  readable?: string[];
  writable?: string[];
  /** What it finds in its environment (tier 3). */
  variables?: Record<string, string>;
}

/** What a host chooses a plugin's tier by. */
export interface Choice extends Pick<Plugin, 'name' | 'version' | 'manifest' | 'rules'> {
  /** A key that this machine trusts signed the whole manifest; or dist.hash, and there are no external packages. */
  trusted: boolean;
}

export interface Tool {
  name: string;
  title?: string;
  description?: string;
  /** JSON Schema. */
  inputSchema?: Record<string, unknown>;
  annotations?: Record<string, unknown>;
}
export interface Resource {
  name: string;
  uri?: string;
  uriTemplate?: string;
  title?: string;
  description?: string;
  mimeType?: string;
}
export interface Prompt {
  name: string;
  title?: string;
  description?: string;
  arguments?: { name: string; description?: string; required?: boolean }[];
}

/** A registration as a call of a server's method: the plugin's own in tier 1, one with plain JSON Schema in tier 3. */
export interface Registration {
  kind: 'tool' | 'resource' | 'prompt';
  /** The method that was called: registerTool, tool, … */
  method: string;
  name: string;
  /** The arguments of the call after the name; the last of them is the handler. */
  args: unknown[];
}

export interface Session {
  tools: Tool[];
  resources: Resource[];
  prompts: Prompt[];
  callTool(name: string, args?: unknown, extra?: unknown): Promise<any>;
  readResource(uri: string | URL, extra?: unknown): Promise<any>;
  getPrompt(name: string, args?: unknown, extra?: unknown): Promise<any>;
  usage(): Promise<Record<string, number>> | Record<string, number>;
  close(): Promise<void> | void;
  captured: Registration[];
}

export type Tier = 1 | 2 | 3;

export interface Options {
  /** The program; default: the environment's HALLMARK, then hallmark. */
  hallmark?: string;
  /** The host's flags; what is not named is taken from env. */
  flags?: Flags;
  /** As --strict. */
  strict?: boolean;
  /** File of allowed external packages. */
  allowlist?: string;
  /** Directory of @modelcontextprotocol/sdk; default: the one that the process's main script would get. */
  sdk?: string;
  /**
   * Default: 1 for a plugin that a trusted key signed with all that runs and whose policy is not sandbox-required, 3 for any
   * other. 2 is 3 with the objects of the language frozen.
   */
  tier?: Tier | ((plugin: Choice) => Tier | Promise<Tier>);
  limits?: Partial<Limits>;
  /** Directories that a plugin of tier 3 may read with fsRead, and write with fsWrite; default none. */
  readable?: string[];
  writable?: string[];
  /**
   * Environment variables that plugins in tier 3 get, or a function of the plugin that returns them; default none. One with
   * permissions.exec gets the host's PATH too.
   */
  variables?: Record<string, string> | ((plugin: Pick<Plugin, 'name' | 'version' | 'manifest' | 'rules'>) => Record<string, string> | undefined | Promise<Record<string, string> | undefined>);
  /** The environment of the program hallmark; default process.env. */
  env?: Record<string, string | undefined>;
  /** Told of what is not fatal: differences of declared and registered capabilities. */
  warn?: (message: string) => void;
}

/** A server to register with: McpServer, or what has the same methods. */
export interface Server {
  registerTool?(name: string, config: any, handler: any): any;
  registerResource?(name: string, uri: any, config: any, handler: any): any;
  registerPrompt?(name: string, config: any, handler: any): any;
  tool?(name: string, ...rest: any[]): any;
  resource?(name: string, ...rest: any[]): any;
  prompt?(name: string, ...rest: any[]): any;
}

export interface Loaded {
  name: string;
  version: string;
  /** The directory or zip that was given. */
  path: string;
  /** The one that it runs in: 1 or 3. */
  tier: Tier;
  tools: string[];
  resources: string[];
  prompts: string[];
}

export interface Summary {
  loaded: Loaded[];
  /** Plugins that were not tried, as one that they depend on was not loaded. */
  skipped: { name: string; path: string; reason: string }[];
  failed: { name: string; path: string; error: PluginError }[];
  /** What is not fatal, and is to be mended by the one who installs. */
  warnings: { name: string; path: string; message: string }[];
  timings: { totalMs: number; verifyMs: number; orderMs: number; loadMs: number };
  stats: {
    plugins: number;
    pluginsLoaded: number;
    pluginsSkipped: number;
    pluginsFailed: number;
    toolsRegistered: number;
    resourcesRegistered: number;
    promptsRegistered: number;
  };
}

export class PluginHost {
  constructor(options?: Options);
  /** Checks plugins, loads them in the order of their dependencies, and registers what they offer with server. */
  load(plugins: string | string[], server?: Server): Promise<Summary>;
  /** Takes back what a plugin offers, ends it and removes its private copy; it may be loaded again, in another version too. */
  unload(name: string): Promise<void>;
  /** Checks a directory of installed plugins against their locks and the host's present flags. */
  revalidate(dir?: string): Promise<{ path: string; name: string; version: string }[]>;
  /** The session of a loaded plugin. */
  session(name: string): Session | undefined;
  /** Runs a function as the host, also where a plugin called it. */
  asHost<T>(run: () => T): T;
  /** Ends all plugins and removes their private copies. */
  close(): Promise<void>;
}

/** rulesOf is what the plugin with a manifest may reach under a host's flags. */
export function rulesOf(manifest: Manifest, flags?: Flags): Rules;

export class PluginError extends Error {
  name: 'integrityError' | 'signatureError' | 'policyError' | 'validationError' | 'operationError';
  exitCode: number;
  plugin?: string;
  /** What hallmark found, where it was asked. */
  findings: { evidence: Record<string, any>; class: string; error?: string; hint?: string }[];
  hint?: string;
}
export class IntegrityError extends PluginError {}
export class SignatureError extends PluginError {}
export class PolicyError extends PluginError {}
export class ValidationError extends PluginError {}
export class OperationError extends PluginError {}
