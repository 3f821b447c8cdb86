// Checks the words of documentation, messages and exported names against a list. A step of `npm run check`.
// A word that is right in its place stands on the list of exceptions, with the reason.
import { globSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import ts from 'typescript'

const root = join(import.meta.dirname, '..')

/** Words that texts do not use, and the words to use instead. */
const words: readonly (readonly [pattern: RegExp, instead: string])[] = [
  [/\b(raw|translated) lanes?\b|\bpivot\b/i, 'passthrough, translation, canonical request'],
  [/(?<!round[ -])\btrips?\b|\bjourneys?\b|\barrivals?\b/i, 'route request, attempt, result'],
  [/\b(is|was|are) held\b|\bheld by\b/i, 'reserved, leased, buffered'],
  [/\bresting\b/i, 'cooling down'],
  [/\ba look\b|\blooked at\b/i, 'health check, poll, sweep'],
  [/\bremembered\b/i, 'cached, stored'],
  [/\boccasions?\b/i, 'triggers'],
  [/\bof (its|their) own\b/i, 'own, separate, dedicated'],
  [/\bmended\b/i, 'repaired, normalised'],
  [/\banew\b/i, 'again; re-encrypt, reload, rebuild'],
  [/\blent\b/i, 'granted, passed'],
  [/\b(nobody|somebody|whoever)\b/i, 'no key, no process, a caller; or negate the verb'],
  [/\b(goes|go|went|gone) on\b/i, 'continue'],
  [/\bat work\b/i, 'in flight, running'],
  [/\b(broke|broken) off\b|\bcut off\b/i, 'truncated, interrupted'],
  [/\bis away\b/i, 'is unreachable'],
  [/\b(is|are) gone\b/i, 'deleted, exited, disconnected'],
  [/\bseal(s|ed|ing)?\b/i, 'encrypt, encryption'],
  [/\b(taken|takes|took) (up|away)\b/i, 'acquired, claimed, resumed; removed'],
  [/\b(gives?|gave|given) back\b|\bcomes? back\b/i, 'release, return'],
  [/\b(hears?|heard) (of|from)\b/i, 'receive, is notified'],
  [/\b(tells?|told)\b/i, 'report, return, notify, log'],
  [/\bunless given\b/i, 'by default'],
]

/** Words that exported names do not contain. */
const nameWords: ReadonlyMap<string, string> = new Map([
  ...['lane', 'pivot'].map(word => [word, 'passthrough, format adapter, translation'] as const),
  ...['trip', 'journey', 'arrival'].map(word => [word, 'route request, attempt, route result'] as const),
  ...['ask', 'asked'].map(word => [word, 'parsed request, candidates, approval'] as const),
  ...['hold', 'held'].map(word => [word, 'reservation, lease, contains'] as const),
  ...['rest', 'resting'].map(word => [word, 'cooldown'] as const),
  ...['refusal', 'refused'].map(word => [word, 'upstream error, rejection'] as const),
  ...['most', 'longest'].map(word => [word, 'max'] as const),
  ...['seal', 'sealed', 'sealing'].map(word => [word, 'encrypt, encrypted'] as const),
  ...['told', 'tell', 'say', 'said'].map(word => [word, 'report, return, notify, log'] as const),
  ...['lent', 'occasion', 'mended', 'anew', 'taken', 'gone', 'kept', 'look'].map(
    word => [word, 'granted, trigger, repaired, again, claimed, deleted, stored, check'] as const,
  ),
])

/** Places where a word is right: the end of the file's name, a part of the line, and the reason. */
const exceptions: readonly (readonly [file: string, part: string, reason: string])[] = [
  ['docs/operations.md', '`nobody`', 'the name of a user of the system'],
  ['store.ts', 'sealed', 'the name of a column'],
  ['core/reasoning-signers.ts', 'seal', 'part of the name of a derived key, which stays'],
  ['db/embedded/account.ts', '"nobody"', 'the name of a user of the system'],
  ['formats/gemini/read-answer.ts', 'isRefusedBy', 'a model refuses to answer: the word of the providers'],
]

interface Text {
  readonly file: string
  readonly line: number
  readonly text: string
}

const pages = ['README.md', 'CONTRIBUTING.md', 'CHANGELOG.md', ...globSync('docs/**/*.md', { cwd: root })].filter(
  page => !page.startsWith('docs/decisions/'),
)
const sources = globSync('src/**/*.ts', { cwd: root })
  .filter(file => !/\.test\.ts$|\/migrations\//.test(file))
  .map(file => ts.createSourceFile(file, readFileSync(join(root, file), 'utf8'), ts.ScriptTarget.Latest, true))

const texts = [...pages.flatMap(linesOf), ...sources.flatMap(messagesOf)]
const names = sources.flatMap(exportedNames)
const problems = [...texts.flatMap(problemsOfText), ...names.flatMap(problemsOfName)]
process.stdout.write(`${problems.join('')}${texts.length + names.length} texts examined\n`)
if (problems.length > 0) process.exitCode = 1

function problemsOfText(found: Text): string[] {
  return words.flatMap(([pattern, instead]) => {
    const [word] = pattern.exec(found.text) ?? []
    return word === undefined ? [] : problemOf(found, word, instead)
  })
}

function problemsOfName(found: Text): string[] {
  const parts = found.text.match(/[A-Z]?[a-z]+|[A-Z]+(?![a-z])/g) ?? []
  return parts.flatMap(part => {
    const instead = nameWords.get(part.toLowerCase())
    return instead === undefined ? [] : problemOf(found, part, instead)
  })
}

function problemOf({ file, line, text }: Text, word: string, instead: string): string[] {
  if (exceptions.some(([name, part]) => file.endsWith(name) && text.includes(part))) return []
  return [`${file}:${line}: "${word}"; write ${instead}\n`]
}

/** Returns the lines of a page without code and without the targets of links. */
function linesOf(file: string): Text[] {
  const text = readFileSync(join(root, file), 'utf8').replaceAll(/^```[\s\S]*?^```/gm, block =>
    block.replaceAll(/[^\n]/g, ''),
  )
  return text
    .split('\n')
    .map((line, at) => ({ file, line: at + 1, text: line.replaceAll(/`[^`]*`/g, '`').replaceAll(/\]\([^)]*\)/g, ']') }))
}

/** Returns the strings of several words in a source file. */
function messagesOf(source: ts.SourceFile): Text[] {
  const found: Text[] = []
  const visit = (node: ts.Node): void => {
    const text = ts.isStringLiteralLike(node) ? node.text : ts.isTemplateExpression(node) ? node.getText() : ''
    if (text.includes(' ')) found.push(textAt(source, node, text))
    ts.forEachChild(node, visit)
  }
  visit(source)
  return found
}

/** Returns the names of the declarations that a source file exports. */
function exportedNames(source: ts.SourceFile): Text[] {
  return source.statements.filter(isExported).flatMap(statement => {
    const declarations = ts.isVariableStatement(statement) ? statement.declarationList.declarations : [statement]
    return declarations.flatMap(({ name }: ts.Node & { readonly name?: ts.Node }) =>
      name && ts.isIdentifier(name) ? textAt(source, name, name.text) : [],
    )
  })
}

function isExported(statement: ts.Statement): boolean {
  const modifiers = ts.canHaveModifiers(statement) ? (ts.getModifiers(statement) ?? []) : []
  return modifiers.some(({ kind }) => kind === ts.SyntaxKind.ExportKeyword)
}

function textAt(source: ts.SourceFile, node: ts.Node, text: string): Text {
  return { file: source.fileName, line: source.getLineAndCharacterOfPosition(node.getStart()).line + 1, text }
}
