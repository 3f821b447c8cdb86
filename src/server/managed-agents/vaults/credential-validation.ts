import type { CredentialValidation } from '../../../contract/managed-vaults.ts'
import type { Caller } from '../../http/caller.ts'
import type { ProbeCredential, ProbeResult } from '../../mcp/agents/credential-probe.ts'
import { notFound } from '../../platform/errors.ts'
import type { Vault } from '../../vault/vault.ts'
import type { CredentialRow, ManagedVaultStore } from './vault-store.ts'

interface Deps {
  readonly store: Pick<ManagedVaultStore, 'find' | 'credential'>
  readonly vault: Pick<Vault, 'value'>
  /** Lists the tools of a server with a credential. */
  readonly probe: ProbeCredential
}

type Verdict = Pick<CredentialValidation, 'status' | 'mcp_probe' | 'refresh'>

/** Tests a credential at its MCP server. Errors: `not_found`. */
export type ValidateCredential = ReturnType<typeof createCredentialValidation>

export const createCredentialValidation = ({ store, vault, probe }: Deps) => {
  async function verdictOn({ id, mcp_server_url: url }: CredentialRow, ownerId: string, caller: Caller) {
    const token = await vault.value({ name: id, ownerId, mayBeGlobal: false })
    return token === undefined ? withoutSecret : verdictOf(await probe({ url, credential: { id, token }, caller }))
  }

  return async (vaultId: string, id: string, caller: Caller): Promise<CredentialValidation> => {
    const owner = await store.find(vaultId, caller.ownerScope)
    if (!owner) throw notFound('vault', vaultId)
    const row = await store.credential(vaultId, id)
    if (!row) throw notFound('credential', id)
    return {
      type: 'vault_credential_validation',
      vault_id: vaultId,
      credential_id: id,
      has_refresh_token: false,
      ...(await verdictOn(row, owner.owner_id, caller)),
      validated_at: new Date().toISOString(),
    }
  }
}

const withoutSecret: Verdict = { status: 'invalid', mcp_probe: null, refresh: null }

const method = 'tools/list'

function verdictOf(result: ProbeResult): Verdict {
  switch (result.kind) {
    case 'accepted':
      return { status: 'valid', mcp_probe: null, refresh: null }
    case 'unreachable':
      return { status: 'unknown', mcp_probe: { method, http_response: null }, refresh: null }
    case 'rejected': {
      const { status: status_code, contentType: content_type } = result
      const http_response = { status_code, content_type, body: '', body_truncated: true }
      const refresh = status_code === 401 ? ({ status: 'no_refresh_token', http_response: null } as const) : null
      return { status: 'invalid', mcp_probe: { method, http_response }, refresh }
    }
  }
}
