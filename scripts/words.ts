// Checks the words of documentation and of messages against a list. A step of `npm run check`.
// A word that is right in its place stands on the list of exceptions, with the reason.
import { globSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import ts from 'typescript'

const root = join(import.meta.dirname, '..')

/** What is not written, and what is written instead. */
const words: readonly (readonly [pattern: RegExp, instead: string])[] = [
  [/\bmended\b/i, 'repaired, normalised'],
  [/\banew\b/i, 'again; re-encrypt, reload, rebuild'],
  [/\blent\b/i, 'granted, passed'],
  [/\bnobody\b/i, 'no key, no process, no person; or negate the verb'],
  [/\b(goes|go|went|gone) on\b/i, 'continue'],
  [/\bat work\b/i, 'in flight, running'],
  [/\b(broke|broken) off\b/i, 'truncated, interrupted'],
  [/\bis away\b/i, 'is unreachable'],
  [/\bseal(s|ed|ing)?\b/i, 'encrypt, encryption'],
  [/\b(taken|takes|took) up\b/i, 'acquired, claimed, resumed'],
  [/\bthe next (look|looks) will\b/i, 'retrying in the next check'],
]

/** Places where a word is right: the end of the file's name, a part of the line, and the reason. */
const exceptions: readonly (readonly [file: string, part: string, reason: string])[] = [
  ['docs/operations.md', '`nobody`', 'the name of a user of the system'],
  ['store.ts', 'sealed', 'the name of a column'],
  ['core/reasoning-signers.ts', 'seal', 'part of the name of a derived key, which stays'],
  ['db/embedded/account.ts', '"nobody"', 'the name of a user of the system'],
]

interface Finding {
  readonly file: string
  readonly line: number
  readonly text: string
}

const pages = ['README.md', 'CONTRIBUTING.md', ...globSync('docs/**/*.md', { cwd: root })].filter(
  page => !page.startsWith('docs/decisions/'),
)
const sources = globSync('src/**/*.ts', { cwd: root }).filter(file => !/\.test\.ts$|\/migrations\//.test(file))

const examined: Finding[] = [...pages.flatMap(linesOf), ...sources.flatMap(messagesOf)]
let count = 0
for (const { file, line, text } of examined)
  for (const [pattern, instead] of words) {
    const [found] = pattern.exec(text) ?? []
    if (found === undefined || exceptions.some(([name, part]) => file.endsWith(name) && text.includes(part))) continue
    count++
    process.stdout.write(`${file}:${line}: "${found}"; write ${instead}\n`)
  }
process.stdout.write(`${examined.length} texts examined\n`)
if (count > 0) process.exitCode = 1

/** The lines of a page, without code. */
function linesOf(file: string): Finding[] {
  const text = readFileSync(join(root, file), 'utf8').replaceAll(/^```[\s\S]*?^```/gm, block =>
    block.replaceAll(/[^\n]/g, ''),
  )
  return text.split('\n').map((line, at) => ({ file, line: at + 1, text: line.replaceAll(/\]\([^)]*\)/g, ']') }))
}

/** The texts of a source file: strings of several words. */
function messagesOf(file: string): Finding[] {
  const source = ts.createSourceFile(file, readFileSync(join(root, file), 'utf8'), ts.ScriptTarget.Latest, true)
  const found: Finding[] = []
  const visit = (node: ts.Node): void => {
    const text = ts.isStringLiteralLike(node) ? node.text : ts.isTemplateExpression(node) ? node.getText() : ''
    if (text.includes(' ')) {
      const line = source.getLineAndCharacterOfPosition(node.getStart()).line + 1
      found.push({ file, line, text })
    }
    ts.forEachChild(node, visit)
  }
  visit(source)
  return found
}
