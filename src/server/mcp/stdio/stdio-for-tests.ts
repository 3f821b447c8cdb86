import type { ConfiguredMcpServer, StdioCommand } from '../../config/agent-settings.ts'

/** Returns a program of the configuration file. */
export const serverWith = (serverName: string, stdio: Partial<StdioCommand>): ConfiguredMcpServer => ({
  serverName,
  alias: null,
  description: null,
  url: '',
  stdio: { command: [], env: {}, vaultEnv: {}, ...stdio },
  authType: 'none',
  authValue: undefined,
  vaultKey: null,
  staticHeaders: {},
  allowedTools: null,
  disallowedTools: null,
  requireApproval: null,
})
