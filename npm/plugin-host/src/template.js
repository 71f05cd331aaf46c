// Templates of URIs, matched by the host: what a plugin says that it matches could be everything.

/**
 * matchesTemplate reports whether a URI has the form of a template of RFC 6570: its literal parts in order, and between them
 * what an expression may stand for. It takes time for the length of both.
 */
export function matchesTemplate(template, uri) {
  const parts = template.split(/((?:\{[^{}]*\})+)/); // literals, and between them expressions
  if (!uri.startsWith(parts[0])) return false;
  let at = parts[0].length;
  for (let i = 1; i < parts.length; i += 2) {
    const literal = parts[i + 1];
    const end = i + 2 < parts.length ? uri.indexOf(literal, at) : uri.length - literal.length;
    if (end < at || !uri.startsWith(literal, end) || !mayStandFor(parts[i], uri.slice(at, end))) return false;
    at = end + literal.length;
  }
  return at === uri.length;
}

function mayStandFor(expressions, text) {
  const path = expressions.replace(/\{[?&][^{}]*\}/g, ''); // without the query, which may be left out
  const value = path === expressions ? text : text.split(/[?&]/)[0];
  if (path === '' || value === '') return path === value;
  return /\{[+#/]|\*\}/.test(path) || !value.includes('/');
}
