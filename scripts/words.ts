// Checks the words of documentation, messages and exported names against the lists of word-list.ts. A step of
// `npm run check`. Prints each finding with what to write instead, and exits with 1 if there is one.
import { globSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import ts from 'typescript'
import { exceptions, nameExceptions, nameWords, words } from './word-list.ts'

interface Text {
  readonly file: string
  readonly line: number
  readonly text: string
}

const root = join(import.meta.dirname, '..')
const found = (pattern: string): string[] =>
  globSync(pattern, { cwd: root, exclude: name => name.endsWith('node_modules') })

const pages = ['README.md', 'CONTRIBUTING.md', 'CHANGELOG.md', ...found('docs/**/*.md')].filter(
  page => !page.startsWith('docs/decisions/'),
)
const sources = [...found('src/**/*.ts'), ...found('web/src/**/*.{ts,tsx}')]
  .filter(file => !/\.test\.tsx?$|\/migrations\//.test(file))
  .map(parsed)
const tools = [...found('{test,bench,scripts}/**/*.ts'), ...found('web/build/*.ts')]
  .filter(file => !/\.test\.ts$|\/generated\//.test(file))
  .map(parsed)

const texts = [...pages.flatMap(linesOf), ...sources.flatMap(messagesOf)]
const names = [...sources, ...tools].flatMap(exportedNames)
const findings = [...texts.flatMap(inText), ...names.flatMap(inName)]
for (const finding of findings) process.stdout.write(`${finding}\n`)
process.stdout.write(`${texts.length + names.length} texts examined\n`)
if (findings.length > 0) process.exitCode = 1

function inText({ file, line, text }: Text): string[] {
  return words.flatMap(([pattern, instead]) => {
    const [match] = pattern.exec(text) ?? []
    const isException = exceptions.some(([name, part]) => file.endsWith(name) && text.includes(part))
    return match === undefined || isException ? [] : [`${file}:${line}: "${match}"; write ${instead}`]
  })
}

function inName({ file, line, text }: Text): string[] {
  if (nameExceptions.has(text)) return []
  const parts = text
    .replaceAll(/([a-z0-9])([A-Z])/g, '$1_$2')
    .toLowerCase()
    .split('_')
  return parts.flatMap(part => {
    const instead = nameWords.get(part)
    return instead === undefined ? [] : [`${file}:${line}: "${part}" in ${text}; write ${instead}`]
  })
}

function parsed(file: string): ts.SourceFile {
  return ts.createSourceFile(file, readFileSync(join(root, file), 'utf8'), ts.ScriptTarget.Latest, true)
}

function textAt(source: ts.SourceFile, node: ts.Node, text: string): Text {
  const { line } = source.getLineAndCharacterOfPosition(node.getStart())
  return { file: source.fileName, line: line + 1, text }
}

/** Returns the lines of a page, without code. */
function linesOf(file: string): Text[] {
  const text = readFileSync(join(root, file), 'utf8').replaceAll(/^```[\s\S]*?^```/gm, block =>
    block.replaceAll(/[^\n]/g, ''),
  )
  return text.split('\n').map((line, at) => ({ file, line: at + 1, text: line.replaceAll(/\]\([^)]*\)/g, ']') }))
}

/** Returns the strings and the texts of elements that have several words. */
function messagesOf(source: ts.SourceFile): Text[] {
  const messages: Text[] = []
  const visit = (node: ts.Node): void => {
    const text = messageIn(node)
    if (text.includes(' ')) messages.push(textAt(source, node, text))
    ts.forEachChild(node, visit)
  }
  visit(source)
  return messages
}

function messageIn(node: ts.Node): string {
  if (ts.isJsxText(node)) return node.text.trim()
  if (ts.isStringLiteralLike(node)) return node.text
  return ts.isTemplateExpression(node) ? node.getText() : ''
}

/** Returns the exported names, and the member names of exported interfaces, types and classes. */
function exportedNames(source: ts.SourceFile): Text[] {
  return source.statements.filter(isExported).flatMap(statement => {
    const own = ts.isVariableStatement(statement)
      ? statement.declarationList.declarations.map(({ name }) => name)
      : [statement.name, ...membersOf(statement).map(({ name }) => name)]
    return own.flatMap(name => (name && ts.isIdentifier(name) ? [textAt(source, name, name.text)] : []))
  })
}

type Declaration =
  | ts.VariableStatement
  | ts.FunctionDeclaration
  | ts.ClassDeclaration
  | ts.InterfaceDeclaration
  | ts.TypeAliasDeclaration

function isExported(node: ts.Statement): node is Declaration {
  return (
    (ts.isVariableStatement(node) ||
      ts.isFunctionDeclaration(node) ||
      ts.isClassDeclaration(node) ||
      ts.isInterfaceDeclaration(node) ||
      ts.isTypeAliasDeclaration(node)) &&
    node.modifiers?.some(({ kind }) => kind === ts.SyntaxKind.ExportKeyword) === true
  )
}

function membersOf(
  node: Exclude<Declaration, ts.VariableStatement>,
): readonly { readonly name?: ts.DeclarationName | undefined }[] {
  if (ts.isInterfaceDeclaration(node) || ts.isClassDeclaration(node)) return node.members
  return ts.isTypeAliasDeclaration(node) && ts.isTypeLiteralNode(node.type) ? node.type.members : []
}
