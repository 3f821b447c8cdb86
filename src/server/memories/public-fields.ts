import { createHash } from 'node:crypto'
import type { Memory } from '../../contract/memories.ts'

/** Returns the fields of a memory for the audit log: its text as digest and size. */
export const publicFields = ({ text, tags, type, priority, disabled, source, agent_id, session_id }: Memory) => ({
  agent_id,
  text: { sha256: createHash('sha256').update(text).digest('hex'), bytes: Buffer.byteLength(text) },
  tags,
  type,
  priority,
  disabled,
  source,
  session_id,
})
