import { stringify } from 'yaml'
import type { VersionText } from './version-store.ts'

/** Returns the SKILL.md of a version that was written as text. */
export function writtenSkillFile({ name, description, content }: VersionText): string {
  const front = stringify({ name, ...(description !== null && { description }) }, { lineWidth: 0 })
  return `---\n${front}---\n${content}\n`
}
