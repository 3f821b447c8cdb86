import { parse, YAMLParseError } from 'yaml'
import { maxSkillNameLength } from '../../contract/skills.ts'
import { AppError, invalid } from '../platform/errors.ts'
import type { SkillFields } from './store.ts'

const parts = /^\uFEFF?---[ \t]*\r?\n([\s\S]*?)\r?\n---[ \t]*(?:\r?\n|$)([\s\S]*)$/
const maxFrontMatter = 20_000
const maxDescription = 10_000

/**
 * Reads a SKILL.md file: `name` and `description` of its front matter, and what comes after it without the empty lines
 * around. Anything else in the front matter is left out.
 */
export function readSkillFile(text: string): SkillFields {
  const [, front, body = ''] = parts.exec(text) ?? []
  if (front === undefined)
    throw invalid('text must begin with front matter: a line ---, name and description, a line ---')
  if (front.length > maxFrontMatter) throw invalid(`text has more than ${maxFrontMatter} characters of front matter`)
  const { name, description = null } = membersOf(front)
  if (typeof name !== 'string' || name.trim() === '' || name.length > maxSkillNameLength)
    throw invalid(`text: name must be there in the front matter, with 1 to ${maxSkillNameLength} characters`)
  if (description !== null && (typeof description !== 'string' || description.length > maxDescription))
    throw invalid(`text: description must be text of at most ${maxDescription} characters`)
  // YAML can spell what no other text of a request may hold.
  if (`${name}${description}`.includes('\0') || !`${name}${description}`.isWellFormed())
    throw invalid('text: name and description must not hold U+0000 or half of a surrogate pair')
  const content = body.replace(/^(?:[ \t]*\r?\n)+/, '').trimEnd()
  if (content.trim() === '') throw invalid('text has no instructions after its front matter')
  return { name, description, content }
}

function membersOf(front: string): Readonly<Record<string, unknown>> {
  try {
    const value: unknown = parse(front, { maxAliasCount: 10 })
    if (typeof value === 'object' && value !== null && !Array.isArray(value)) return { ...value }
  } catch (error) {
    const at = error instanceof YAMLParseError ? ` in line ${(error.linePos?.[0].line ?? 0) + 1}` : ''
    throw new AppError('invalid_request', `text: the front matter is not YAML${at}`, { cause: error })
  }
  throw invalid('text: the front matter must be names with values, such as `name: terse`')
}
