import type { Approval } from '../../contract/approvals.ts'
import type { OpencodePermission } from '../../contract/opencode-sessions.ts'
import type { OpencodeMessage } from '../../contract/sessions.ts'
import { partIdOf } from './messages.ts'

/** A tool call that requires approval. */
export interface ApprovalRequest {
  /** Id of the approval and of its event. */
  readonly id: string
  readonly sessionId: string
  readonly name: string
  readonly input: unknown
  /** Position of the call in the conversation, if known. */
  readonly tool?: { readonly messageID: string; readonly callID: string } | undefined
}

/** Returns an approval in opencode's format. `always` is empty because a decision applies to one call only. */
export function permissionOf({ id, sessionId, name, input, tool }: ApprovalRequest): OpencodePermission {
  const metadata = isObject(input) ? input : {}
  const about = metadata['command'] ?? metadata['file_path'] ?? metadata['pattern']
  return {
    id,
    sessionID: sessionId,
    permission: name,
    patterns: [typeof about === 'string' ? about : '*'],
    metadata,
    always: [],
    ...(tool && { tool }),
  }
}

const isObject = (value: unknown): value is Record<string, unknown> =>
  typeof value === 'object' && value !== null && !Array.isArray(value)

/** Maps a reply of opencode to a decision. */
export const verdictOf = (reply: 'once' | 'always' | 'reject'): 'allow' | 'deny' =>
  reply === 'reject' ? 'deny' : 'allow'

/** Returns pending approvals with their position in the conversation; calls `messagesOf` once per session. */
export async function pendingPermissions(
  pending: readonly Approval[],
  messagesOf: (sessionId: string) => Promise<readonly OpencodeMessage[]>,
): Promise<OpencodePermission[]> {
  const permissions: OpencodePermission[] = []
  for (const [sessionId, approvals] of Map.groupBy(pending, ({ session_id }) => session_id)) {
    const parts = (await messagesOf(sessionId)).flatMap(message => message.parts)
    for (const { id, name, input, tool_use_id: callID } of approvals) {
      const messageID = parts.find(part => part['id'] === partIdOf(id))?.['messageID']
      const tool = messageID === undefined ? undefined : { messageID: String(messageID), callID }
      permissions.push(permissionOf({ id, sessionId, name, input, tool }))
    }
  }
  return permissions
}
