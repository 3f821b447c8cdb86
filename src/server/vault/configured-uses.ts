import type { VaultUse } from '../../contract/vault.ts'
import type { Config } from '../config/config.ts'

/** Returns the names of global entries that the configuration file contains, each with what reads it. */
export function configuredUses({
  mcpServers,
  gitHosts,
  logSinks,
}: Pick<Config, 'mcpServers' | 'gitHosts' | 'logSinks'>): (VaultUse & { readonly key: string })[] {
  const servers = mcpServers.flatMap(({ serverName, vaultKey, stdio }) => {
    const names = [...(vaultKey === null ? [] : [['vault_key', vaultKey]]), ...Object.entries(stdio?.vaultEnv ?? {})]
    return names.map(([field = '', key = '']) => ({
      kind: 'mcp_server' as const,
      id: serverName,
      name: serverName,
      field: field === 'vault_key' ? 'mcp_servers[].vault_key' : `mcp_servers[].env.${field}`,
      key,
    }))
  })
  const hosts = gitHosts.flatMap(({ host, credential }) =>
    credential === undefined
      ? []
      : [{ kind: 'git_host' as const, id: host, name: host, field: 'git_hosts[].credential', key: credential }],
  )
  const sinks = logSinks.flatMap(sink =>
    sink.type === 'file' || sink.bearerVaultKey === undefined
      ? []
      : [
          {
            kind: 'log_sink' as const,
            id: sink.name,
            name: sink.name,
            field: 'log_sinks[].bearer_vault_key',
            key: sink.bearerVaultKey,
          },
        ],
  )
  return [...servers, ...hosts, ...sinks]
}
