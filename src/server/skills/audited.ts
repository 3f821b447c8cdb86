import { createHash } from 'node:crypto'
import type { Skill } from '../../contract/skills.ts'

/** Returns the fields of a skill for the audit log: its content as digest and size in bytes of UTF-8. */
export const publicFields = ({ name, description, content }: Pick<Skill, 'name' | 'description' | 'content'>) => ({
  name,
  description,
  content: { sha256: createHash('sha256').update(content).digest('hex'), bytes: Buffer.byteLength(content) },
})
