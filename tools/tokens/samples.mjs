// Files of kinds whose lines and tokens differ most: from Go's own source where it has them, generated otherwise.
import { createHash } from "node:crypto";
import { mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";

const size = 1 << 20; // bytes at least of what is generated

// numbers returns a generator of whole numbers below n, the same in every run.
function numbers(seed) {
  let state = seed >>> 0;
  return (n) => {
    state = (Math.imul(state, 1664525) + 1013904223) >>> 0;
    return Math.floor((state / 2 ** 32) * n);
  };
}

// lines repeats make until the text is as large as a sample is.
function lines(make) {
  const pick = numbers(15);
  const all = [];
  for (let bytes = 0, i = 0; bytes < size; i++) {
    all.push(make(pick, i));
    bytes += Buffer.byteLength(all[i]) + 1;
  }
  return all.join("\n") + "\n";
}

const hex = (text) => createHash("sha256").update(String(text)).digest("hex");
const base64 = (text) => createHash("sha512").update(String(text)).digest("base64");
const one = (pick, of) => of[pick(of.length)];

const chinese = ["服务器在启动时读取配置文件,如果文件不存在,则使用默认值并写入日志。", "用户登录后可以查看最近三十天的订单记录,也可以导出为表格。",
  "这个函数返回两个值:第一个是结果,第二个是错误;调用者必须检查错误。", "数据库连接池的大小应当根据处理器的数量来设定,而不是越大越好。",
  "昨天夜里下了一场大雨,河水涨得很高,桥上的路灯都熄灭了。", "请注意:修改之后需要重新启动程序,否则新的设置不会生效。"];
const japanese = ["サーバーは起動時に設定ファイルを読み込み、存在しない場合は既定値を使用します。", "この関数は結果とエラーの二つの値を返すので、呼び出し側で必ず確認してください。",
  "昨日の夜は雨が強く降ったため、電車が一時間ほど遅れて到着しました。", "変更を保存した後は、プログラムを再起動しないと新しい設定が反映されません。",
  "利用者は過去三十日間の注文履歴を一覧で表示し、表計算ファイルに書き出せます。"];

const made = {
  "chinese.txt": () => lines((pick) => Array.from({ length: 1 + pick(3) }, () => one(pick, chinese)).join("")),
  "japanese.txt": () => lines((pick) => Array.from({ length: 1 + pick(3) }, () => one(pick, japanese)).join("")),
  "server.log": () => lines((pick, i) => [
    `2026-11-${10 + (i % 19)}T${10 + pick(14)}:${10 + pick(50)}:${10 + pick(50)}.${100 + pick(900)}Z`,
    `${one(pick, ["INFO", "WARN", "ERROR"])} [${hex(i).slice(0, 16)}] 10.${pick(256)}.${pick(256)}.${pick(256)}`,
    `GET /v1/orders/${hex(pick(1e6)).slice(0, 8)}?page=${pick(99)} ${one(pick, [200, 304, 404, 500])} ${pick(9000)}ms`,
  ].join(" ")),
  "minified.js": () => lines((pick) => {
    const name = () => String.fromCharCode(97 + pick(26)) + (pick(3) ? "" : String.fromCharCode(97 + pick(26)));
    const step = () => one(pick, [
      () => `${name()}.${name()}(${name()},${pick(99)})`,
      () => `if(!${name()})return ${name()}[${name()}]`,
      () => `for(var ${name()}=0;${name()}<${name()}.length;${name()}++)${name()}(${name()})`,
      () => `${name()}=function(${name()}){return ${name()}?${name()}:!${pick(2)}}`,
    ])();
    return Array.from({ length: 12 }, step).join(";");
  }),
  "one-line.js": () => made["minified.js"]().replaceAll("\n", ";"),
  "package-lock.json": () => lines((pick, i) => [
    `    "node_modules/${hex(i).slice(0, 7)}": {`,
    `      "version": "${pick(9)}.${pick(30)}.${pick(20)}",`,
    `      "integrity": "sha512-${base64(i)}",`,
    '      "license": "MIT"',
    "    },",
  ].join("\n")),
  "points.json": () => lines((pick) => {
    const point = () => `[${pick(180)}.${pick(1e6)},${pick(90)}.${pick(1e6)}]`;
    return `[${Array.from({ length: 12 }, point).join(",")}],`;
  }),
  "digits.csv": () => lines((pick) => Array.from({ length: 30 }, () => pick(10)).join(",")),
  "hex.txt": () => lines((pick, i) => hex(i)),
  "empty-lines.txt": () => "\n".repeat(size >> 5),
};

// The largest files of Go's source that people edit, of a style each.
const real = {
  "opGen.go": "cmd/compile/internal/ssa/opGen.go",
  "server.go": "net/http/server.go",
  "tables.go": "unicode/tables.go",
};

// writeSamples writes every sample into dir, and returns their names.
export function writeSamples(dir, goroot) {
  for (const [name, path] of Object.entries(real)) {
    writeFileSync(join(dir, name), readFileSync(join(goroot, "src", path)));
  }
  for (const [name, make] of Object.entries(made)) writeFileSync(join(dir, name), make());
  return [...Object.keys(real), ...Object.keys(made)];
}

// writeCrowd makes a directory of count files, in folders of 100 if they are to be a tree.
export function writeCrowd(dir, count, nested) {
  const words = ["order", "user", "session", "report", "invoice", "cache", "index", "parser"];
  for (let i = 0; i < count; i++) {
    const folder = nested ? join(dir, `${words[(i / 100) % 8 | 0]}s-${(i / 100) | 0}`) : dir;
    if (i === 0 || (nested && i % 100 === 0)) mkdirSync(folder, { recursive: true });
    const name = `${words[i % 8]}_${words[(i >> 3) % 8]}_${i}.go`;
    writeFileSync(join(folder, name), `package ${words[i % 8]}\n\nvar value${i} = ${i}\n`);
  }
}
