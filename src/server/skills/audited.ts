import { createHash } from 'node:crypto'
import type { Skill } from '../../contract/skills.ts'

/** What the audit log keeps of a skill: its instructions by digest and size, which is in bytes of UTF-8. */
export const publicFields = ({ name, description, content }: Skill) => ({
  name,
  description,
  content: { sha256: createHash('sha256').update(content).digest('hex'), bytes: Buffer.byteLength(content) },
})
