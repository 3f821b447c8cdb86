import { createHmac, timingSafeEqual } from 'node:crypto'
import type { Approval } from '../../../contract/approvals.ts'
import { digestOf } from '../../platform/digest.ts'
import type { Keyring } from '../../platform/encryption.ts'
import { mayAnswer } from './approval-policy.ts'
import type { ApprovalStore } from './approval-store.ts'

interface Deps {
  readonly keyring: Keyring
  /** Where people reach the service; undefined: there are no links. */
  readonly publicUrl: string | undefined
  readonly store: Pick<ApprovalStore, 'pendingOf'>
}

/** A link with which its holder answers an approval. */
export interface ApprovalLink {
  readonly approval_id: string
  readonly url: string
  readonly expires_at: string
}

/** Signed links of approvals. A link is valid while its approval is pending, so it can be used once. */
export type ApprovalLinks = ReturnType<typeof createApprovalLinks>

const purpose = 'approval links'
/** What an unknown approval is compared with, so that the time does not reveal that it is unknown. */
const decoy = { id: '', digest: '', expires_at: '' }

export function createApprovalLinks({ keyring, publicUrl, store }: Deps) {
  /** Bound to the arguments and the expiry, so a link never allows anything else than what it was made for. */
  const tokenOf = ({ id, digest, expires_at }: Pick<Approval, 'id' | 'digest' | 'expires_at'>, keyId: string): string =>
    createHmac('sha256', keyring.derive(keyId, purpose) ?? '')
      .update(`${id}\n${digest}\n${expires_at}`)
      .digest('base64url')

  return {
    pending: store.pendingOf,

    /** Returns links of those approvals that can still be answered by a link. */
    async of(ids: readonly string[]): Promise<ApprovalLink[]> {
      if (publicUrl === undefined || ids.length === 0) return []
      const pending = (await store.pendingOf(ids)).filter(({ approvers }) => mayAnswer(approvers, 'link'))
      return pending.map(approval => ({
        approval_id: approval.id,
        url: `${publicUrl}/approvals/${approval.id}?token=${tokenOf(approval, keyring.currentId)}`,
        expires_at: approval.expires_at,
      }))
    },

    /** Returns the approval of a link; undefined for a link that is invalid, used or expired. */
    async open(id: string, token: string): Promise<(Approval & { readonly runtime: string }) | undefined> {
      const [approval] = publicUrl === undefined ? [] : await store.pendingOf([id])
      const given = digestOf(token)
      const matches = keyring.ids.filter(keyId => timingSafeEqual(given, digestOf(tokenOf(approval ?? decoy, keyId))))
      return approval && matches.length > 0 && mayAnswer(approval.approvers, 'link') ? approval : undefined
    },
  }
}
