import type { Command } from 'commander'
import type { Client } from '../../client/client.ts'
import { agentRoutes } from '../../contract/agents.ts'
import { exitCodes } from '../exit-codes.ts'
import { CommandFailed } from '../failures.ts'
import { agentFinder } from '../finders.ts'
import { agoText } from '../format.ts'
import { dim } from '../out.ts'
import { plainLine } from '../plain-text.ts'
import type { Registry } from '../world.ts'
import { addRouteCommand, type FieldArgument } from './route-command.ts'
import type { FieldOption } from './schema-option.ts'
import { done, id, printFields, rows } from './show.ts'

const which: FieldArgument = { field: 'agent_id', name: 'agent', text: 'id or name of the agent', finder: agentFinder }
const version: FieldArgument = { field: 'version', text: 'number of the version' }
const settings: readonly FieldOption[] = [
  { field: 'model', value: 'name' },
  { field: 'system' },
  { field: 'description', text: 'description of the agent' },
  { field: 'runtime', value: 'id' },
  { field: 'config', text: 'settings as JSON, or @ and the path of a JSON file; given keys replace the stored ones' },
  { field: 'tools', text: 'tools as JSON, or @ and the path of a JSON file' },
  { field: 'note' },
]

/** Adds the commands of `agents` that call one route. */
export function addAgentCommands(agents: Command, registry: Registry): void {
  addRouteCommand(agents, registry, {
    name: 'show',
    route: agentRoutes.get,
    text: 'show an agent',
    args: [which],
    show: ({ created_at, ...agent }, { out }) =>
      printFields(out, { ...agent, created_at: new Date(created_at).toISOString() }),
    examples: ['switchyard agents show ada', 'switchyard agents show ada --json'],
  })
  addRouteCommand(agents, registry, {
    name: 'create',
    route: agentRoutes.create,
    text: 'create an agent and print its id',
    args: [{ field: 'name', text: 'name of the agent' }],
    fields: [{ field: 'owner_id', flag: 'owner', value: 'name' }, ...settings],
    show: id(({ id }) => id),
    examples: [
      'switchyard agents create Ada --owner team --model sonnet --system "You review code."',
      'AGENT=$(switchyard agents create Ada --owner team --system @prompt.md)',
    ],
  })
  addRouteCommand(agents, registry, {
    name: 'edit',
    route: agentRoutes.update,
    text: 'change an agent, which makes a new version; what is not given stays unchanged',
    args: [which],
    fields: [
      { field: 'name', text: 'new name' },
      { field: 'owner_id', flag: 'owner', text: 'new owner' },
      ...settings,
      {
        field: 'expected_version',
        flag: 'if-version',
        text: 'fail with exit code 6 unless this is the current version',
      },
    ],
    isPartial: true,
    complete: async (request, { client, args: [agent_id = ''] }) => {
      const changes = (request['body'] ?? {}) as object
      if (Object.keys(changes).length === 0)
        throw new CommandFailed('nothing to change; see "switchyard agents edit --help"', exitCodes.usage)
      return { ...request, body: { ...(await identityOf(client, agent_id)), ...changes } }
    },
    show: done(({ id, version }) => `changed ${id} (version ${version})`),
    examples: [
      'switchyard agents edit ada --model opus --note "Needs better plans"',
      'switchyard agents edit ada --system @prompt.md',
    ],
  })
  for (const name of ['pause', 'resume', 'archive'] as const) {
    addRouteCommand(agents, registry, {
      name,
      route: agentRoutes[name],
      args: [which],
      show: done(({ id, status }) => `${id} is ${status}`),
      examples: [`switchyard agents ${name} ada`],
    })
  }
  addVersions(agents, registry)
  addRouteCommand(agents, registry, {
    name: 'clone',
    route: agentRoutes.import,
    text: 'create a copy of an agent without its secrets and print its id',
    args: [which],
    fields: [
      { field: 'name', text: 'name of the copy; default: that of the agent and "(copy)"' },
      { field: 'owner_id', flag: 'owner', text: 'owner of the copy; default: that of the agent' },
    ],
    isPartial: true,
    complete: async (request, { client, args: [agent_id = ''], out }) => {
      const file = await client.agents.export({ params: { agent_id } })
      if (file.omitted.length > 0) out.note(dim(`Omitted because they may contain secrets: ${file.omitted.join(', ')}`))
      const name = `${file.agent.name.slice(0, 190)} (copy)`
      return { query: { name, ...(request['query'] as object | undefined) }, body: file }
    },
    show: id(({ id }) => id),
    examples: ['switchyard agents clone ada --name "Ada 2"'],
  })
  addRouteCommand(agents, registry, {
    name: 'rm',
    route: agentRoutes.remove,
    text: 'delete an agent; its sessions and their logs stay',
    args: [which],
    destroys: ([id]) => `delete agent ${id}`,
    show: done((_, [id]) => `deleted ${id}`),
    examples: ['switchyard agents rm ada --yes'],
  })
}

/** Name and owner, which every update must repeat. */
async function identityOf(client: Client, agent_id: string) {
  const { name, owner_id } = await client.agents.get({ params: { agent_id } })
  return { name, owner_id: owner_id ?? '' }
}

function addVersions(agents: Command, registry: Registry): void {
  addRouteCommand(agents, registry, {
    name: 'versions',
    route: agentRoutes.versions,
    text: 'list the versions of an agent, newest first',
    args: [which],
    show: rows(
      ({ versions }) => versions,
      [
        ['VERSION', ({ version }) => String(version)],
        ['CREATED', ({ created_at }, now) => agoText(now - created_at)],
        ['BY', ({ created_by }) => created_by ?? '-'],
        ['MODEL', ({ agent }) => agent.model],
        ['NOTE', ({ note }) => note ?? ''],
      ],
      { empty: 'No versions.', dropFirst: ['BY'] },
    ),
    examples: ['switchyard agents versions ada'],
  })
  addRouteCommand(agents, registry, {
    name: 'diff',
    route: agentRoutes.diff,
    text: 'compare a version of an agent with the current one, or with another',
    args: [which, version],
    fields: [{ field: 'to' }],
    show: ({ changes }, { out }) => {
      if (changes.length === 0) out.line('No differences.')
      for (const { field, before, after } of changes) {
        out.line({ text: field, tone: 'strong' })
        out.line({ text: `- ${plainLine(JSON.stringify(before ?? null), 1_000)}`, tone: 'bad' })
        out.line({ text: `+ ${plainLine(JSON.stringify(after ?? null), 1_000)}`, tone: 'good' })
      }
      return undefined
    },
    examples: ['switchyard agents diff ada 3', 'switchyard agents diff ada 3 --to 5'],
  })
  addRouteCommand(agents, registry, {
    name: 'rollback',
    route: agentRoutes.rollback,
    text: 'make an earlier version current again, as a new version',
    args: [which, version],
    fields: [{ field: 'note' }],
    show: done(({ id, version }) => `rolled back ${id} (version ${version})`),
    examples: ['switchyard agents rollback ada 3 --note "Version 4 loops"'],
  })
}
