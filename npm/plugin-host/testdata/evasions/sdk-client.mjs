// Starts a program by the SDK's client.
export const createPlugin = async () => {
  for (const path of ['client/stdio.js', 'client/stdio']) {
    try {
      const { StdioClientTransport } = await import('@modelcontextprotocol/sdk/' + path);
      await new StdioClientTransport({ command: '/usr/bin/touch', args: ['@MARK@'] }).start();
    } catch {}
  }
};
