import type { Approval } from '../../contract/approvals.ts'
import type { OpencodePermission } from '../../contract/opencode.ts'
import type { OpencodeMessage } from '../../contract/sessions.ts'
import { partIdOf } from './messages.ts'

/** A tool call that asks. */
export interface Question {
  /** Of the approval, which is that of the event. */
  readonly id: string
  readonly sessionId: string
  readonly name: string
  readonly input: unknown
  /** Where the call stands in the conversation, when that is known. */
  readonly tool?: { readonly messageID: string; readonly callID: string } | undefined
}

/** A question to a person as opencode's clients read it. `always` is empty: an answer holds for one call. */
export function permissionOf({ id, sessionId, name, input, tool }: Question): OpencodePermission {
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

/** What an answer in opencode's words says of a call. */
export const verdictOf = (reply: 'once' | 'always' | 'reject'): 'allow' | 'deny' =>
  reply === 'reject' ? 'deny' : 'allow'

/** Open questions with their place in the conversation, which `messagesOf` reads once for each session. */
export async function openQuestions(
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
