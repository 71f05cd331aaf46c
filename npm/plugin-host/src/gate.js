// The program hallmark, asked before and after a plugin registers.
import { execFile } from 'node:child_process';
import { errorOf, OperationError, ValidationError } from './errors.js';

/** flagNames maps the names of the environment to those of the command line. */
const flagNames = {
  PLUGIN_ALLOW_RUNTIME_DEPS: 'allow-runtime-deps',
  PLUGIN_ALLOW_NATIVE: 'allow-native',
  REQUIRE_SIGNATURES: 'require-signatures',
  STRICT_CAPABILITIES: 'strict-capabilities',
  STRICT_TOOLS: 'strict-tools',
  STRICT_INTEGRITY: 'strict-integrity',
  SANDBOX_AVAILABLE: 'sandbox-available',
};

/** readFlags returns all flags: those given, the rest from the environment as hallmark reads it. */
export function readFlags(given = {}, env = process.env) {
  const flags = {};
  for (const name of Object.keys(given)) {
    if (!(name in flagNames)) throw new ValidationError(`unknown flag ${name}; known are ${Object.keys(flagNames).join(', ')}`);
  }
  for (const name of Object.keys(flagNames)) {
    if (given[name] !== undefined) {
      if (typeof given[name] !== 'boolean') throw new ValidationError(`flag ${name} is not true or false`);
      flags[name] = given[name];
    } else {
      flags[name] = truth(name, env[name]) || (name === 'REQUIRE_SIGNATURES' && truth('PLUGIN_REQUIRE_SIGNED', env.PLUGIN_REQUIRE_SIGNED));
    }
  }
  return flags;
}

function truth(name, value = '') {
  const word = value.trim().toLowerCase();
  if (['1', 'true', 'yes', 'on'].includes(word)) return true;
  if (['', '0', 'false', 'no', 'off'].includes(word)) return false;
  throw new ValidationError(`${name} is ${JSON.stringify(value)}, neither true (1, true, yes, on) nor false (0, false, no, off)`);
}

// visible writes what publishers chose such that a terminal shows it and does nothing else.
export function visible(text) {
  return text.replace(/[\p{Cc}\p{Cf}\p{Zl}\p{Zp}]/gu, (c) => (c === '\n' ? c : `\\u{${c.codePointAt(0).toString(16)}}`));
}

function explain(answer) {
  const refused = (answer.findings ?? []).filter((f) => f.class !== 'ok');
  const lines = refused.slice(0, 3).map((f) => {
    const e = f.evidence ?? {};
    const what = [e.actual, e.reason].filter(Boolean).join(': ') || f.error || '';
    return `${e.subject}: ${e.scheme} ${e.outcome}${what && ` (${what})`}`;
  });
  if (refused.length > 3) lines.push(`and ${refused.length - 3} more`);
  return visible([answer.error ?? 'hallmark refused it', ...lines].join('; '));
}

function failed(answer) {
  const refused = (answer.findings ?? []).filter((f) => f.class !== 'ok');
  return errorOf(answer.error_type, explain(answer), {
    plugin: answer.name, findings: answer.findings ?? [], hint: answer.hint ?? refused.find((f) => f.hint)?.hint,
  });
}

/** Gate asks hallmark for one host: always with all of its flags. */
export class Gate {
  constructor({ flags, strict = false, allowlist, env = process.env, hallmark = env.HALLMARK || 'hallmark' }) {
    Object.assign(this, { hallmark, flags, strict, allowlist, env: { ...env } });
  }

  #arguments(flags, strict = this.strict) {
    const args = Object.entries(flagNames).map(([name, flag]) => `--${flag}=${flags[name]}`);
    if (strict) args.push('--strict');
    if (this.allowlist !== undefined) args.push('--allowlist', this.allowlist);
    return args;
  }

  #ask(command, flags, paths = []) {
    return new Promise((resolve, reject) => {
      execFile(this.hallmark, ['plugin', command, '--json', ...flags, '--', ...paths], { maxBuffer: 64 << 20, env: this.env }, (error, stdout, stderr) => {
        if (error?.code === 'ENOENT') {
          return reject(new OperationError(`the program ${this.hallmark} is not there`,
            { cause: error, hint: 'install hallmark, or name it with the option hallmark or the environment\'s HALLMARK' }));
        }
        try {
          resolve(JSON.parse(stdout));
        } catch {
          reject(new OperationError(`${this.hallmark} plugin ${command} gave no answer: ${visible(stderr.trim() || error?.message || '')}`, { cause: error }));
        }
      });
    });
  }

  /**
   * verify checks a plugin, and writes what was checked to copy. What it registers nobody knows yet: that is
   * for reverify. The answer says which trusted keys signed dist.hash, and which the whole manifest.
   */
  async verify(path, copy) {
    const before = { ...this.flags, STRICT_CAPABILITIES: false, STRICT_TOOLS: false };
    const answer = await this.#ask('verify', ['--copy-to', copy, ...this.#arguments(before)], [path]);
    if (answer.ok !== true) throw failed(answer);
    const signer = (scheme) => (answer.findings ?? []).map((f) => f.evidence)
      .find((e) => e.scheme === scheme && e.authority === 'machine' && e.outcome === 'match')?.actual;
    return { ...answer, signedBy: signer('signature'), manifestSignedBy: signer('statement') };
  }

  /** reverify checks a private copy, which verify wrote, against the file of what the plugin registered. */
  async reverify(copy, registered) {
    const flags = { ...this.flags, REQUIRE_SIGNATURES: false, STRICT_INTEGRITY: false };
    const answer = await this.#ask('verify', ['--registered', registered, ...this.#arguments(flags, false)], [copy]);
    if (answer.ok !== true) throw failed(answer);
  }

  /** order returns names of plugins, each after those that it depends on. */
  async order(copies) {
    const answer = await this.#ask('order', [], copies);
    if (answer.ok !== true) throw failed({ ...answer, error_type: answer.error_type ?? 'validationError' });
    return answer.order;
  }

  /** revalidate checks installed plugins against their locks and the present flags. */
  async revalidate(dir) {
    const before = { ...this.flags, STRICT_CAPABILITIES: false, STRICT_TOOLS: false };
    const answer = await this.#ask('revalidate', ['--dir', dir, ...this.#arguments(before)]);
    if (answer.ok === true) return answer.plugins ?? [];
    const wrong = (answer.plugins ?? []).filter((p) => p.ok !== true);
    if (wrong.length === 0) throw failed(answer);
    const first = wrong.find((p) => p.exit_code === answer.exit_code) ?? wrong[0];
    const error = failed(first);
    error.message = wrong.map((p) => `${visible(p.path ?? '')}: ${explain(p)}`).join('\n');
    throw error;
  }
}
