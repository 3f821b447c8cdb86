import type { FastifyInstance } from 'fastify'
import type { Pool } from 'pg'
import type { Audit } from '../audit/audit.ts'
import { createManagedVaults } from '../managed-agents/vaults/managed-vaults.ts'
import { serveManagedVaults } from '../managed-agents/vaults/routes.ts'
import { managedVaultStore } from '../managed-agents/vaults/vault-store.ts'
import type { Vault } from '../vault/vault.ts'

interface Needs {
  readonly pool: Pool
  readonly audit: Audit
  readonly vault: Vault
}

/** Vaults of the Managed Agents dialect: credentials of sessions for MCP servers. */
export function composeManagedVaults({ pool, audit, vault }: Needs) {
  const vaults = createManagedVaults({ pool, store: managedVaultStore(pool), vault, audit })

  return {
    vaults,
    serve(app: FastifyInstance) {
      serveManagedVaults(app, { vaults })
    },
  }
}
