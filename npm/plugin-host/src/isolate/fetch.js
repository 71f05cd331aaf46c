// Requests of a plugin of tier 2, made by its thread, outside of its context: its manifest asks for the network.

const methods = new Set(['GET', 'HEAD', 'POST', 'PUT', 'PATCH', 'DELETE', 'OPTIONS']);

/** answerFetch makes one request, and gives send the text of its answer. */
export async function answerFetch(m, limits, allowed, send) {
  const id = m.fetch;
  if (typeof id !== 'number') return;
  try {
    if (!allowed) throw new Error('the manifest does not declare permissions.network');
    const url = new URL(String(m.url));
    if (url.protocol !== 'http:' && url.protocol !== 'https:') throw new Error(`fetch of ${url.protocol}`);
    if (!methods.has(String(m.method).toUpperCase())) throw new Error('a method that is not given');
    const headers = Array.isArray(m.headers) ? m.headers.filter((h) => Array.isArray(h) && h.length === 2).map((h) => h.map(String)) : [];
    const r = await fetch(url, {
      method: String(m.method).toUpperCase(), headers, body: typeof m.body === 'string' ? m.body : undefined,
      redirect: ['follow', 'manual', 'error'].includes(m.redirect) ? m.redirect : 'follow', signal: AbortSignal.timeout(limits.callMillis),
    });
    const chunks = [];
    let size = 0;
    for await (const chunk of r.body ?? []) {
      if ((size += chunk.length) > limits.fetchBytes) throw new Error(`an answer of more than ${limits.fetchBytes} bytes`);
      chunks.push(chunk);
    }
    send(JSON.stringify({ fetched: id, status: r.status, statusText: r.statusText, url: r.url, redirected: r.redirected,
      headers: [...r.headers], body: Buffer.concat(chunks).toString('base64') }));
  } catch (e) {
    send(JSON.stringify({ fetched: id, error: `fetch failed: ${e?.cause?.message ?? e?.message}` }));
  }
}
