// Processes of plugins of tier 3: what they use, and how they end with all that they started.
import { execFile } from 'node:child_process';
import { readdirSync, readFileSync } from 'node:fs';

const linux = process.platform === 'linux';
const ticksPerSecond = 100; // of /proc, on all of Linux' platforms that Node runs on
const pageBytes = 4096; // the least there is: more only makes the sample smaller than it is

/** statOf reads a process of Linux: its parent, times and start; nothing if it is gone. */
export function statOf(pid) {
  try {
    const text = readFileSync(`/proc/${pid}/stat`, 'latin1');
    const f = text.slice(text.lastIndexOf(')') + 2).split(' ');
    return { pid, state: f[0], parent: +f[1], group: +f[2], cpuMillis: ((+f[11] + +f[12]) * 1000) / ticksPerSecond, start: f[19], rssBytes: +f[21] * pageBytes };
  } catch {
    return undefined;
  }
}

/** usageOf is what a process uses, where the system says so. */
export async function usageOf(pid) {
  if (linux) {
    const s = statOf(pid);
    return s && { rssBytes: s.rssBytes, cpuMillis: s.cpuMillis };
  }
  if (process.platform === 'win32') return undefined;
  return new Promise((resolve) => {
    execFile('ps', ['-o', 'rss=,time=', '-p', String(pid)], { env: {} }, (e, stdout) => {
      const m = /^\s*(\d+)\s+(?:(\d+)-)?(?:(\d+):)?(\d+):([\d.]+)/.exec(stdout ?? '');
      if (e || !m) return resolve(undefined);
      const [, rss, days = 0, hours = 0, minutes, seconds] = m.map((x) => x ?? 0);
      resolve({ rssBytes: +rss * 1024, cpuMillis: (((+days * 24 + +hours) * 60 + +minutes) * 60 + +seconds) * 1000 });
    });
  });
}

/** Family remembers the processes that descend from one, as far as samples saw them, or that carry its mark. */
export class Family {
  #root;
  #mark;
  #known = new Map(); // pid → start

  constructor(root, mark) {
    this.#root = root;
    this.#mark = mark;
    this.sample();
  }

  /** sample adds those that are there now, and gives what all of them use. */
  sample() {
    if (!linux) return undefined;
    const all = new Map();
    for (const name of readdirSync('/proc')) {
      if (!/^\d+$/.test(name)) continue;
      const s = statOf(+name);
      if (s) all.set(s.pid, s);
    }
    const alive = (s) => s && this.#known.get(s.pid) === s.start;
    if (all.has(this.#root) && !this.#known.has(this.#root)) this.#known.set(this.#root, all.get(this.#root).start);
    for (let grew = true; grew;) {
      grew = false;
      for (const s of all.values()) {
        if (alive(s)) continue;
        if (alive(all.get(s.parent)) || (s.group === this.#root && alive(all.get(this.#root))) || this.#marked(s.pid)) {
          this.#known.set(s.pid, s.start);
          grew = true;
        }
      }
    }
    const used = { rssBytes: 0, cpuMillis: 0, processes: 0 };
    for (const s of all.values()) {
      if (!alive(s) || s.state === 'Z') continue;
      used.rssBytes += s.rssBytes;
      used.cpuMillis += s.cpuMillis;
      used.processes++;
    }
    return used;
  }

  #marked(pid) {
    try {
      return readFileSync(`/proc/${pid}/environ`, 'latin1').includes(this.#mark);
    } catch {
      return false;
    }
  }

  /** killAll ends every one of them that is still the process that was seen. */
  killAll() {
    killGroup(this.#root);
    if (!linux) return;
    for (let round = 0; round < 5; round++) {
      this.sample();
      let left = 0;
      for (const [pid, start] of this.#known) {
        const s = statOf(pid);
        if (!s || s.start !== start || s.state === 'Z') continue;
        left++;
        try { process.kill(pid, 'SIGKILL'); } catch { /* gone */ }
      }
      if (left === 0) return;
    }
  }
}

/** killGroup ends a process and its group at once. */
export function killGroup(pid) {
  if (!(pid > 1)) return;
  try {
    process.kill(process.platform === 'win32' ? pid : -pid, 'SIGKILL');
  } catch { /* gone */ }
}
