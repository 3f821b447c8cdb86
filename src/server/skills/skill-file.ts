import { parse, YAMLParseError } from 'yaml'
import { maxSkillNameLength } from '../../contract/skills.ts'
import { AppError, invalid } from '../platform/errors.ts'
import type { SkillFields } from './store.ts'

const parts = /^\uFEFF?---[ \t]*\r?\n([\s\S]*?)\r?\n---[ \t]*(?:\r?\n|$)([\s\S]*)$/
const maxFrontMatter = 20_000
const maxDescription = 10_000

/**
 * Reads a SKILL.md file: `name` and `description` of its front matter, and the text after it without surrounding empty
 * lines. Other fields of the front matter are ignored. Throws `invalid`.
 */
export function readSkillFile(text: string): SkillFields {
  const [, front, body = ''] = parts.exec(text) ?? []
  if (front === undefined)
    throw invalid('text must start with front matter: a line ---, then name and description, then a line ---')
  if (front.length > maxFrontMatter) throw invalid(`text: front matter must have at most ${maxFrontMatter} characters`)
  const { name, description = null } = membersOf(front)
  if (typeof name !== 'string' || name.trim() === '' || name.length > maxSkillNameLength)
    throw invalid(`text: front matter must have a name of 1 to ${maxSkillNameLength} characters`)
  if (description !== null && (typeof description !== 'string' || description.length > maxDescription))
    throw invalid(`text: description must be a string of at most ${maxDescription} characters`)
  // YAML escapes can produce characters that the body parser rejects elsewhere.
  if (`${name}${description}`.includes('\0') || !`${name}${description}`.isWellFormed())
    throw invalid('text: name and description must not contain U+0000 or an unpaired surrogate')
  const content = body.replace(/^(?:[ \t]*\r?\n)+/, '').trimEnd()
  if (content.trim() === '') throw invalid('text has no instructions after the front matter')
  return { name, description, content }
}

function membersOf(front: string): { readonly name: unknown; readonly description: unknown } {
  try {
    // As maps: names of object members are texts, and that of a nested key takes exponential time.
    const value: unknown = parse(front, { maxAliasCount: 10, mapAsMap: true, logLevel: 'error' })
    if (value instanceof Map) return { name: value.get('name'), description: value.get('description') }
  } catch (error) {
    const at = error instanceof YAMLParseError ? ` at line ${(error.linePos?.[0].line ?? 0) + 1}` : ''
    throw new AppError('invalid_request', `text: front matter is not valid YAML${at}`, { cause: error })
  }
  throw invalid('text: front matter must be a YAML mapping, such as `name: terse`')
}
