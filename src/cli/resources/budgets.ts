import { type Command, InvalidArgumentError, Option } from 'commander'
import { type Budget, budgetRoutes } from '../../contract/budgets.ts'
import { exitCodes } from '../exit-codes.ts'
import { CommandFailed } from '../failures.ts'
import type { Registry } from '../world.ts'
import { addGroup } from './group.ts'
import { addRouteCommand, type FieldArgument } from './route-command.ts'
import type { FieldOption } from './schema-option.ts'
import { details, done, rows } from './show.ts'

const scopes = ['owner', 'agent', 'session', 'team'] as const
const which: readonly FieldArgument[] = [
  { field: 'scope', text: 'what the budget limits', choices: scopes },
  { field: 'scope_id', name: 'id', text: 'name of the owner, or id of the agent, session or team' },
]
const limits: readonly FieldOption[] = [
  { field: 'max_budget', flag: 'budget', value: 'usd', text: 'US dollars per period' },
  { field: 'budget_duration', flag: 'per', value: 'time', text: 'reset period of the budget, such as 12h, 30d or 1mo' },
  { field: 'soft_budget', flag: 'warn-at', value: 'usd', text: 'amount in US dollars at which to warn' },
  { field: 'rpm_limit', flag: 'rpm', text: 'requests per minute' },
  { field: 'tpm_limit', flag: 'tpm', text: 'tokens per minute' },
  { field: 'max_parallel_requests', flag: 'parallel', text: 'concurrent model calls' },
]

const dollarsOrNone = (amount: number | null): string => (amount === null ? '-' : `$${amount}`)
const resetOf = ({ budget_duration }: Budget): string => budget_duration ?? 'never'

/** Adds `budgets`. */
export function addBudgetCommands(program: Command, registry: Registry): void {
  const group = addGroup(program, 'budgets', 'limits of owners, agents, sessions and teams; requires an admin key', [
    'switchyard budgets ls',
    'switchyard budgets set owner acme --budget 100 --per 30d',
  ])
  addRouteCommand(group, registry, {
    name: 'ls',
    route: budgetRoutes.list,
    text: 'list budgets, those of keys included',
    fields: [{ field: 'scope', text: 'only budgets of this kind' }],
    show: rows(
      ({ budgets }) => budgets,
      [
        ['ID', ({ scope_id }) => scope_id],
        ['SCOPE', ({ scope }) => scope],
        ['SPENT', ({ spend }) => `$${spend.toFixed(2)}`],
        ['BUDGET', ({ max_budget }) => dollarsOrNone(max_budget)],
        ['RESET', resetOf],
        ['RESERVED', ({ reserved }) => `$${reserved.toFixed(2)}`],
        ['NAME', ({ scope_name }) => scope_name ?? ''],
      ],
      {
        empty: 'No budgets. Set one: switchyard budgets set owner <name> --budget <usd>',
        dropFirst: ['NAME', 'RESERVED', 'RESET'],
      },
    ),
    examples: ['switchyard budgets ls', 'switchyard budgets ls --scope owner --json'],
  })
  addRouteCommand(group, registry, {
    name: 'show',
    route: budgetRoutes.get,
    args: which.map(argument => (argument.field === 'scope' ? { ...argument, choices: ['key', ...scopes] } : argument)),
    text: 'show the limits of one budget with the spent and the reserved amount',
    show: details(),
    examples: ['switchyard budgets show owner acme'],
  })
  addRouteCommand(group, registry, {
    name: 'set',
    route: budgetRoutes.set,
    args: which,
    text: 'set all limits of a budget; a limit that is not given does not apply',
    fields: limits,
    show: done(
      budget => `${budget.scope} ${budget.scope_id}: ${dollarsOrNone(budget.max_budget)}, reset: ${resetOf(budget)}`,
    ),
    examples: [
      'switchyard budgets set owner acme --budget 100 --per 30d --warn-at 80',
      'switchyard budgets set agent agent_0199 --rpm 60 --parallel 4',
    ],
  })
  addRouteCommand(group, registry, {
    name: 'raise',
    route: budgetRoutes.set,
    args: which,
    text: 'change the amount of a budget and keep its other limits; sessions that it paused continue',
    extend: command =>
      void command
        .addOption(new Option('--by <usd>', 'US dollars to add').argParser(positive).conflicts('to'))
        .addOption(new Option('--to <usd>', 'new amount in US dollars').argParser(positive)),
    complete: async (request, { client, options, args: [scope = '', scope_id = ''] }) => {
      const params = { scope: scope as (typeof scopes)[number], scope_id }
      const now = await client.budgets.get({ params })
      return { ...request, body: raised(now, options as { by?: number; to?: number }) }
    },
    show: done(({ scope, scope_id, max_budget }) => `${scope} ${scope_id}: ${dollarsOrNone(max_budget)}`),
    examples: ['switchyard budgets raise owner acme --by 50', 'switchyard budgets raise session ses_0199 --to 20'],
  })
  addRouteCommand(group, registry, {
    name: 'rm',
    route: budgetRoutes.remove,
    args: which,
    text: 'remove the limits of an owner, agent, session or team',
    destroys: ([scope, id]) => `remove all limits of ${scope} ${id}`,
    show: done((_, [scope, id]) => `removed the limits of ${scope} ${id}`),
    examples: ['switchyard budgets rm owner acme --yes'],
  })
}

function positive(text: string): number {
  const value = /^\d{1,9}(\.\d{1,9})?$/.test(text) ? Number(text) : 0
  if (value > 0) return value
  throw new InvalidArgumentError('It must be an amount of US dollars above 0, such as 20 or 0.50.')
}

/** Returns the limits of a budget with another amount. */
function raised(now: Budget, { by, to }: { readonly by?: number; readonly to?: number }) {
  const { max_budget, soft_budget, budget_duration, rpm_limit, tpm_limit, max_parallel_requests } = now
  if (by === undefined && to === undefined) throw new CommandFailed('set --by or --to', exitCodes.usage)
  if (to === undefined && max_budget === null)
    throw new CommandFailed('budget has no amount to raise; set one with --to', exitCodes.usage)
  // Cents of amounts such as 0.1 + 0.2 must stay exact.
  const amount = to ?? Number(((max_budget ?? 0) + (by ?? 0)).toFixed(9))
  return { max_budget: amount, soft_budget, budget_duration, rpm_limit, tpm_limit, max_parallel_requests }
}
