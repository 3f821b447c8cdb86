import type { Command } from 'commander'
import { eventRoutes } from '../../contract/event-routes.ts'
import type { SessionEvent } from '../../contract/events.ts'
import { sessionRoutes } from '../../contract/sessions.ts'
import { eventLines } from '../event-lines.ts'
import { agentFinder, sessionFinder } from '../finders.ts'
import type { Registry } from '../world.ts'
import { addRouteCommand, type FieldArgument } from './route-command.ts'
import { addSessionFileCommands } from './session-files.ts'
import { done, id, printFields } from './show.ts'

export const sessionArgument: FieldArgument = {
  field: 'session_id',
  name: 'session',
  text: 'id or title of the session',
  finder: sessionFinder,
}

/** Adds the commands of `sessions` that call one route. */
export function addSessionRouteCommands(sessions: Command, registry: Registry): void {
  addRouteCommand(sessions, registry, {
    name: 'show',
    route: sessionRoutes.summary,
    text: 'show a session: what it does, its tokens and its cost',
    args: [sessionArgument],
    show: ({ activity, ...session }, { out }) =>
      printFields(out, {
        ...session,
        activity: [activity.kind, activity.name, activity.message].filter(Boolean).join(' '),
      }),
    examples: ['switchyard sessions show ses_0199', 'switchyard sessions show ses_0199 --json'],
  })
  addRouteCommand(sessions, registry, {
    name: 'edit',
    route: sessionRoutes.update,
    text: 'change the title or the metadata of a session',
    args: [sessionArgument],
    fields: [
      { field: 'title', text: 'new title' },
      { field: 'metadata', text: 'names and values as a JSON object; null removes a name' },
    ],
    show: done(({ id, title }) => `changed ${id}: ${title}`),
    examples: ['switchyard sessions edit ses_0199 --title "Fix the login"'],
  })
  addRouteCommand(sessions, registry, {
    name: 'fork',
    route: sessionRoutes.fork,
    text: 'create a session that continues from an event of another one, and print its id',
    args: [sessionArgument],
    fields: [
      { field: 'event_id', flag: 'at', value: 'event', text: 'id of the last event to copy; default: the last one' },
      { field: 'agent_id', flag: 'agent', text: 'agent of the new session', finder: agentFinder },
      { field: 'model', value: 'name', text: 'model of the new session' },
      { field: 'title', text: 'title of the new session' },
    ],
    show: id(({ id }) => id),
    examples: ['switchyard sessions fork ses_0199', 'switchyard sessions fork ses_0199 --at evt_0199 --model opus'],
  })
  addRouteCommand(sessions, registry, {
    name: 'events',
    route: eventRoutes.list,
    text: 'print events of a session, oldest first; "sessions tail" follows it',
    args: [sessionArgument],
    fields: [
      { field: 'types', value: 'names', text: 'only these types, separated by commas' },
      { field: 'after', value: 'n', text: 'only events after this sequence number' },
      { field: 'order', text: 'order of the events' },
    ],
    show: ({ data }, { out }) => {
      for (const event of data) for (const line of eventLines(event as SessionEvent)) out.line(...line)
      return undefined
    },
    examples: [
      'switchyard sessions events ses_0199 --types agent.message',
      'switchyard sessions events ses_0199 --json',
    ],
  })
  addSessionFileCommands(sessions, registry)
  addRouteCommand(sessions, registry, {
    name: 'rm',
    route: sessionRoutes.remove,
    text: 'delete a session with its log and its files',
    args: [sessionArgument],
    destroys: ([id]) => `delete session ${id} with its log and its files`,
    show: done((_, [id]) => `deleted ${id}`),
    examples: ['switchyard sessions rm ses_0199 --yes'],
  })
}
