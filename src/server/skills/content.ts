import { maxSkillBytes } from '../../contract/skills.ts'
import { invalid } from '../platform/errors.ts'

/** Returns the content. Throws `invalid` when it is blank or too long. */
export function checkedContent(content: string): string {
  if (content.trim() === '') throw invalid('content must not be blank')
  if (Buffer.byteLength(content) > maxSkillBytes)
    throw invalid(`content must have at most ${maxSkillBytes} bytes in UTF-8`)
  return content
}
