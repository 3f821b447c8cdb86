import type { FastifyInstance } from 'fastify'
import type { Pool } from 'pg'
import type { Audit } from '../audit/audit.ts'
import { createCredentialValidation } from '../managed-agents/vaults/credential-validation.ts'
import { createManagedVaults } from '../managed-agents/vaults/managed-vaults.ts'
import { serveManagedVaults } from '../managed-agents/vaults/routes.ts'
import { managedVaultStore } from '../managed-agents/vaults/vault-store.ts'
import type { ProbeCredential } from '../mcp/agents/credential-probe.ts'
import type { Vault } from '../vault/vault.ts'

interface Needs {
  readonly pool: Pool
  readonly audit: Audit
  readonly vault: Vault
  /** Known once the MCP servers are composed. */
  readonly probe: () => ProbeCredential
}

/** Vaults of the Managed Agents dialect: credentials of sessions for MCP servers. */
export function composeManagedVaults({ pool, audit, vault, probe }: Needs) {
  const store = managedVaultStore(pool)
  const vaults = createManagedVaults({ pool, store, vault, audit })
  const validate = createCredentialValidation({ store, vault, probe: request => probe()(request) })

  return {
    vaults,
    serve(app: FastifyInstance) {
      serveManagedVaults(app, { vaults, validate })
    },
  }
}
