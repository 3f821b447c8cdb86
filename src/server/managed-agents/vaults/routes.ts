import type { FastifyInstance } from 'fastify'
import { managedVaultRoutes } from '../../../contract/managed-vaults.ts'
import { bind } from '../../http/bind.ts'
import { byId, listOf } from '../lists.ts'
import type { ValidateCredential } from './credential-validation.ts'
import type { ManagedVaults } from './managed-vaults.ts'

interface Deps {
  readonly vaults: ManagedVaults
  readonly validate: ValidateCredential
}

/** Serves the vaults of the Managed Agents dialect and their credentials. */
export function serveManagedVaults(app: FastifyInstance, { vaults, validate }: Deps): void {
  bind(app, managedVaultRoutes.create, ({ body }, caller, { actor, idempotency }) =>
    vaults.create(body, { caller, actor }, idempotency),
  )
  bind(app, managedVaultRoutes.list, ({ query }, caller) => {
    const withArchived = query.include_archived ?? false
    return listOf(query, page => vaults.list({ ...page, withArchived }, caller), byId)
  })
  bind(app, managedVaultRoutes.get, ({ params }, caller) => vaults.get(params.vault_id, caller))
  bind(app, managedVaultRoutes.update, ({ params, body }, caller, { actor }) =>
    vaults.update(params.vault_id, body, { caller, actor }),
  )
  bind(app, managedVaultRoutes.archive, ({ params }, caller, { actor }) =>
    vaults.archive(params.vault_id, { caller, actor }),
  )
  bind(app, managedVaultRoutes.remove, async ({ params: { vault_id: id } }, caller, { actor }) => {
    await vaults.remove(id, { caller, actor })
    return { id, type: 'vault_deleted' as const }
  })
  bind(app, managedVaultRoutes.createCredential, ({ params, body }, caller, { actor }) =>
    vaults.createCredential(params.vault_id, body, { caller, actor }),
  )
  bind(app, managedVaultRoutes.credentials, ({ params, query }, caller) => {
    const withArchived = query.include_archived ?? false
    return listOf(query, page => vaults.credentials(params.vault_id, { ...page, withArchived }, caller), byId)
  })
  bind(app, managedVaultRoutes.credential, ({ params }, caller) =>
    vaults.credential(params.vault_id, params.credential_id, caller),
  )
  bind(app, managedVaultRoutes.updateCredential, ({ params, body }, caller, { actor }) =>
    vaults.updateCredential(params.vault_id, params.credential_id, body, { caller, actor }),
  )
  bind(app, managedVaultRoutes.validateCredential, ({ params }, caller) =>
    validate(params.vault_id, params.credential_id, caller),
  )
  bind(app, managedVaultRoutes.archiveCredential, ({ params }, caller, { actor }) =>
    vaults.archiveCredential(params.vault_id, params.credential_id, { caller, actor }),
  )
  bind(app, managedVaultRoutes.removeCredential, async ({ params }, caller, { actor }) => {
    const { vault_id, credential_id: id } = params
    await vaults.removeCredential(vault_id, id, { caller, actor })
    return { id, type: 'vault_credential_deleted' as const }
  })
}
