import type { SpokenProtocol } from '../support/upstream/spoken-protocols.ts'
import type { Cell } from './cells.ts'
import type { Client } from './clients.ts'
import { type Feature, features } from './driver.ts'

const columns: Readonly<Record<SpokenProtocol, string>> = {
  'openai-chat': 'Chat',
  'openai-responses': 'Responses',
  'anthropic-messages': 'Messages',
  gemini: 'Gemini',
  'bedrock-converse': 'Bedrock Converse',
}
const protocols = Object.keys(columns) as SpokenProtocol[]

interface Table {
  readonly clients: readonly Client[]
  readonly cells: readonly Cell[]
  /** Installed versions by the name of the package. */
  readonly versions: Readonly<Record<string, string>>
}

/** What `npm run clients` writes: a row a client, a column a format of models. */
export function tableOf({ clients, cells, versions }: Table): string {
  const rows = clients.map(client => {
    const own = cells.filter(cell => cell.client === client.name)
    const tried = features.filter(feature => own.some(({ results }) => results[feature] !== undefined))
    const shown = protocols.map(protocol => {
      if (protocol === client.speaks) return 'own format'
      const cell = own.find(each => each.protocol === protocol)
      return cell ? verdict(cell, tried) : 'not run'
    })
    return [client.name, versions[client.package] ?? '', tried.join(', '), ...shown]
  })
  const head = ['Client', 'Version', 'What it can do', ...Object.values(columns)]
  const failures = cells.flatMap(failuresOf)
  return [
    '# Clients on models of every format',
    '',
    'Which client works with which models. Each row is a real client that calls scripted providers through a running service; each column',
    'is the format of the provider. `npm run clients -- --write` writes this page; [clients](clients.md) shows how to connect each client.',
    '',
    '- `own format`: the client’s calls pass unchanged.',
    '- `all`: every feature of the column “What it can do” passed.',
    '- `stream`: the text arrives in pieces. `image`: the provider gets the image.',
    '- `tools`: the model calls a tool, with thinking, and answers after the result.',
    '- `reasoning`: the client requests reasoning and shows it. A program that prints none sends it back with the result of its tool.',
    '- `compaction`: a first answer fills the context, and the second turn continues from a summary.',
    '',
    ...[head, head.map(() => '---'), ...rows].map(row => `| ${row.join(' | ')} |`),
    ...(failures.length > 0 ? ['', '## Failures', '', ...failures.map(line => `- ${line}`)] : []),
    '',
  ].join('\n')
}

function verdict({ results }: Cell, tried: readonly Feature[]): string {
  const passed = tried.filter(feature => results[feature] === 'passed')
  return passed.length === tried.length ? 'all' : `${passed.length} of ${tried.length}`
}

/** Why each feature of a cell failed, a line each. */
export const failuresOf = ({ client, protocol, results }: Cell): string[] =>
  Object.entries(results).flatMap(([feature, result]) =>
    result === 'passed' ? [] : [`${client} on ${columns[protocol]}, ${feature}: ${oneLine(result.failure)}`],
  )

const oneLine = (text: string): string => text.replaceAll(/\s+/g, ' ').slice(0, 300)
