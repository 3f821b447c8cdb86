import type { PoolClient } from 'pg'
import type { User } from '../../contract/users.ts'
import type { Audit } from '../audit/audit.ts'
import { sqlOfClient } from '../db/once.ts'
import type { Actor } from '../http/caller.ts'

/** Fields of a user for the audit log. */
export const auditedUser = ({ kind, name, email, owner_id, role, is_disabled }: User) => ({
  kind,
  name,
  email,
  owner_id,
  role,
  is_disabled,
})

interface Change {
  readonly action: 'create' | 'update' | 'delete' | 'follow_groups' | 'sign_in'
  readonly user: User
  readonly before?: object
  readonly after?: object
}

/** Returns a function that records a change of a user in the caller's transaction. */
export const userAudit =
  (audit: Audit) =>
  (client: PoolClient, actor: Actor, { action, user, ...change }: Change): Promise<void> =>
    audit.record(sqlOfClient(client), {
      actor,
      action: `user.${action}`,
      objectId: user.id,
      ownerId: user.owner_id,
      ...change,
    })
