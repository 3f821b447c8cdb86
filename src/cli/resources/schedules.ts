import type { Command } from 'commander'
import { scheduleRoutes } from '../../contract/schedules.ts'
import { agentFinder, scheduleFinder } from '../finders.ts'
import type { Registry } from '../world.ts'
import { addGroup } from './group.ts'
import { addRouteCommand, type FieldArgument } from './route-command.ts'
import type { FieldOption } from './schema-option.ts'
import { ago, done, id, minuteText, printFields, rows } from './show.ts'

const which: FieldArgument = {
  field: 'schedule_id',
  name: 'schedule',
  text: 'id or name of the schedule',
  finder: scheduleFinder,
}

/** Fields of create and update. */
const settings: readonly FieldOption[] = [
  { field: 'timezone' },
  { field: 'session' },
  { field: 'overlap' },
  { field: 'missed' },
  { field: 'missed_limit', text: 'maximum number of missed runs with --missed all' },
]
const what: readonly FieldOption[] = [
  { field: 'cron' },
  { field: 'prompt', text: 'prompt of each run' },
  { field: 'agent_id', flag: 'agent', text: 'agent that gets the prompt', finder: agentFinder },
]

/** Adds `schedules`. */
export function addScheduleCommands(program: Command, registry: Registry): void {
  const group = addGroup(program, 'schedules', 'prompts that agents receive at certain times', [
    'switchyard schedules ls',
    'switchyard schedules run nightly',
  ])
  addRouteCommand(group, registry, {
    name: 'ls',
    route: scheduleRoutes.list,
    text: 'list schedules, newest first',
    fields: [{ field: 'agent_id', flag: 'agent', text: 'only schedules of this agent', finder: agentFinder }],
    constants: { include: 'last_run' },
    show: rows(
      ({ schedules }) => schedules,
      [
        ['ID', ({ id }) => id],
        ['STATUS', ({ status }) => status],
        ['CRON', ({ cron, timezone }) => `${cron} ${timezone}`],
        ['NEXT', ({ next_run_at }) => minuteText(next_run_at)],
        ['LAST', ({ last_run }, now) => (last_run ? `${last_run.state} ${ago(last_run.due_at, now)}` : '-')],
        ['NAME', ({ name }) => name],
      ],
      { empty: 'No schedules. Create one: switchyard schedules create <name> --help', dropFirst: ['LAST', 'CRON'] },
    ),
    examples: ['switchyard schedules ls', 'switchyard schedules ls --agent ada --json'],
  })
  addRouteCommand(group, registry, {
    name: 'show',
    route: scheduleRoutes.get,
    text: 'show a schedule, its next runs and its last runs',
    args: [which],
    show: async (schedule, { client, out }) => {
      if (out.isJson) return
      const { cron, timezone } = schedule
      const next = await client.schedules.preview({ body: { cron, timezone } })
      const { runs } = await client.schedules.runs({ params: { schedule_id: schedule.id }, query: { limit: 5 } })
      printFields(out, {
        ...schedule,
        next_runs: next.runs.map(minuteText).join('\n'),
        last_runs: runs.map(run => `${minuteText(run.due_at)}  ${run.state}`).join('\n'),
      })
    },
    examples: ['switchyard schedules show nightly'],
  })
  addRouteCommand(group, registry, {
    name: 'create',
    route: scheduleRoutes.create,
    text: 'create a schedule and print its id',
    args: [{ field: 'name', text: 'name of the schedule' }],
    fields: [...what, ...settings],
    show: id(({ id }) => id),
    examples: [
      'switchyard schedules create nightly --agent ada --cron "0 3 * * *" --prompt "Triage new issues"',
      'switchyard schedules create standup --agent ada --cron "30 9 * * MON-FRI" --timezone Europe/Berlin --prompt @standup.md',
    ],
  })
  addRouteCommand(group, registry, {
    name: 'edit',
    route: scheduleRoutes.update,
    args: [which],
    text: 'change a schedule; what is not given stays unchanged',
    fields: [{ field: 'name', text: 'new name' }, ...what, ...settings],
    show: done(({ id, next_run_at }) => `changed ${id}; next run ${minuteText(next_run_at)}`),
    examples: ['switchyard schedules edit nightly --cron "0 4 * * *"'],
  })
  for (const [name, status] of [
    ['pause', 'paused'],
    ['resume', 'active'],
  ] as const) {
    addRouteCommand(group, registry, {
      name,
      route: scheduleRoutes.update,
      text: `${name} a schedule`,
      args: [which],
      constants: { status },
      show: done(schedule => `${schedule.id} is ${schedule.status}; next run ${minuteText(schedule.next_run_at)}`),
      examples: [`switchyard schedules ${name} nightly`],
    })
  }
  addRouteCommand(group, registry, {
    name: 'run',
    route: scheduleRoutes.trigger,
    args: [which],
    show: done(({ id, session_id }) => `queued run ${id}${session_id === null ? '' : ` in session ${session_id}`}`),
    examples: ['switchyard schedules run nightly'],
  })
  addRouteCommand(group, registry, {
    name: 'runs',
    route: scheduleRoutes.runs,
    args: [which],
    fields: [{ field: 'state', text: 'only runs in this state' }],
    show: rows(
      ({ runs }) => runs,
      [
        ['DUE', ({ due_at }) => minuteText(due_at)],
        ['STATE', ({ state }) => state],
        ['CAUSE', ({ cause }) => cause],
        ['SESSION', ({ session_id }) => session_id ?? '-'],
        ['REASON', ({ reason }) => reason ?? ''],
      ],
      { empty: 'No runs yet.' },
    ),
    examples: ['switchyard schedules runs nightly --state failed'],
  })
  addRouteCommand(group, registry, {
    name: 'preview',
    route: scheduleRoutes.preview,
    text: 'print the next times of a cron expression',
    args: [{ field: 'cron', text: 'minute, hour, day of the month, month, day of the week' }],
    fields: [{ field: 'timezone' }, { field: 'count', text: 'number of runs' }],
    show: ({ runs }, { out }) => {
      for (const run of runs) out.line(run)
      return undefined
    },
    examples: ['switchyard schedules preview "30 9 * * MON-FRI" --timezone Europe/Berlin'],
  })
  addRouteCommand(group, registry, {
    name: 'rm',
    route: scheduleRoutes.remove,
    text: 'delete a schedule with its history; its sessions stay',
    args: [which],
    destroys: ([id]) => `delete schedule ${id} with its history`,
    show: done((_, [id]) => `deleted ${id}`),
    examples: ['switchyard schedules rm nightly --yes'],
  })
}
