import type { Shape } from '../src/server/config/yaml-shape.ts'
import { plain, textOf } from './configuration-shape.ts'
import { examples } from './example-settings.ts'
import { variables } from './reference-settings.ts'

const width = 118

/** Returns `switchyard.example.yaml`: every setting, commented out, with its default or an example. */
export const exampleConfiguration = (shape: Shape): string =>
  [
    '# yaml-language-server: $schema=docs/reference/configuration.schema.json',
    '## Every setting of the configuration file. `npm run reference` generates this page.',
    '## A line with one # is a setting with its default, or with an example where the default is no value: remove "# " to set it,',
    '## and the same of the lines that it is below. Any text can name a variable as os.environ/NAME.',
    ...linesOf(shape, '', ''),
    '',
  ].join('\n')

/** Returns `.env.example`: every variable, commented out. */
export const exampleVariables = (): string =>
  [
    '# Variables of the service. `npm run reference` generates this page; docs/reference/configuration.md has the same list.',
    '# A supervisor or docker compose reads the file, the service itself does not.',
    ...Object.entries(variables).flatMap(([name, [meaning, absent = '']]) => [
      '',
      ...wrapped(`${plain(meaning)}. Default: ${plain(absent)}.`, '# '),
      `#${name}=`,
    ]),
    '',
    '# The three variables of deploy/compose.yaml without a default:',
    '#POSTGRES_PASSWORD=',
    '#OPENCODE_PASSWORD=',
    '#S3_SECRET_ACCESS_KEY=',
    '',
  ].join('\n')

function linesOf(shape: Shape, path: string, indent: string): string[] {
  if (shape.kind !== 'block') return []
  return Object.entries(shape.keys).flatMap(([name, of]) => {
    const own = path === '' ? name : `${path}.${name}`
    // Has the keys of `params`.
    if (name === 'litellm_params') return []
    return [
      ...(path === '' ? [''] : []),
      ...commentOf(own, indent),
      ...settingOf(of, own, `# ${indent}${name}:`, indent),
    ]
  })
}

function settingOf(shape: Shape, path: string, key: string, indent: string): string[] {
  if (shape.kind === 'block') return [key, ...linesOf(shape, path, `${indent}  `)]
  if (shape.kind !== 'list' || shape.of.kind !== 'block') return [`${key} ${yamlOf(shape, path)}`]
  const inner = linesOf(shape.of, `${path}[]`, `${indent}    `)
  const first = inner.findIndex(line => !line.startsWith('##'))
  return [key, ...inner.map((line, at) => (at === first ? line.replace(`# ${indent}    `, `# ${indent}  - `) : line))]
}

function yamlOf(shape: Shape, path: string): string {
  const value = examples[path] ?? defaultOf(shape, plain(textOf(path)[1] ?? ''))
  if (value !== undefined) return value
  switch (shape.kind) {
    case 'flag':
      return 'true'
    case 'whole':
    case 'number':
      return String(Math.max(shape.min, 1))
    case 'list':
      return '[name]'
    case 'by name':
      return '{ NAME: text }'
    default:
      return 'text'
  }
}

/** Returns the default as YAML if the reference states a value. */
function defaultOf(shape: Shape, absent: string): string | undefined {
  switch (shape.kind) {
    case 'flag':
      return /^(true|false)$/.exec(absent)?.[0]
    case 'whole':
    case 'number':
      return /^[\d.]+$/.exec(absent)?.[0]
    case 'text':
      return /^(?!none$|required|empty$|all$|off$)[\w/.-]+$/.exec(absent)?.[0]
    default:
      return undefined
  }
}

function commentOf(path: string, indent: string): string[] {
  const [meaning, absent] = textOf(path)
  const state = absent === 'required' ? ' Required.' : absent === undefined ? '' : ` Default: ${plain(absent)}.`
  return wrapped(`${plain(meaning)}.${state}`, `## ${indent}`)
}

function wrapped(text: string, start: string): string[] {
  const lines: string[] = []
  let line = start
  for (const word of text.split(' ')) {
    if (line.length + word.length > width && line !== start) {
      lines.push(line.trimEnd())
      line = start
    }
    line += `${word} `
  }
  return [...lines, line.trimEnd()]
}
