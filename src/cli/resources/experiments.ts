import type { Command } from 'commander'
import type { Client } from '../../client/client.ts'
import {
  type CaseComparison,
  type Experiment,
  type ExperimentCase,
  type ExperimentComparison,
  experimentRoutes,
} from '../../contract/experiments.ts'
import { type ExitCode, exitCodes } from '../exit-codes.ts'
import { agentFinder, datasetFinder, experimentFinder } from '../finders.ts'
import { elapsedText } from '../format.ts'
import { dim, type Out } from '../out.ts'
import { share } from '../parse.ts'
import { plainLine } from '../plain-text.ts'
import { printTable } from '../table.ts'
import type { Registry } from '../world.ts'
import { addGroup } from './group.ts'
import { addRouteCommand, type FieldArgument } from './route-command.ts'
import { ago, done, printFields, rows } from './show.ts'
import { waitForExperiment } from './wait-for-experiment.ts'

const which: FieldArgument = {
  field: 'experiment_id',
  name: 'experiment',
  text: 'id or name of the experiment',
  finder: experimentFinder,
}

/** Adds `experiments`. */
export function addExperimentCommands(program: Command, registry: Registry): void {
  const group = addGroup(program, 'experiments', 'runs of an agent version or a model on all cases of a dataset', [
    'switchyard experiments run support --agent ada --wait --fail-under 0.9',
    'switchyard experiments compare exp_0199 --fail-on-worse',
  ])
  addRun(group, registry)
  addRouteCommand(group, registry, {
    name: 'ls',
    route: experimentRoutes.list,
    text: 'list experiments, newest first',
    fields: [
      { field: 'dataset_id', flag: 'dataset', text: 'only experiments on this dataset', finder: datasetFinder },
      { field: 'agent_id', flag: 'agent', text: 'only experiments of this agent', finder: agentFinder },
      { field: 'state', text: 'only experiments in this state' },
    ],
    show: rows(
      ({ experiments }) => experiments,
      [
        ['ID', ({ id }) => id],
        ['STATE', ({ state }) => state],
        ['PASSED', ({ counts }) => `${counts.passed}/${counts.total}`],
        ['SCORE', ({ score }) => shareText(score)],
        ['COST', ({ cost_usd }) => usdText(cost_usd)],
        ['STARTED', ({ created_at }, now) => ago(created_at, now)],
        ['NAME', ({ name }) => name],
      ],
      {
        empty: 'No experiments. Run one: switchyard experiments run <dataset> --agent <agent>',
        dropFirst: ['STARTED', 'SCORE'],
      },
    ),
    examples: ['switchyard experiments ls', 'switchyard experiments ls --dataset support --json'],
  })
  addRouteCommand(group, registry, {
    name: 'show',
    route: experimentRoutes.get,
    text: 'show an experiment and the result of each case',
    args: [which],
    show: async (experiment, { client, out }) => {
      if (out.isJson) return undefined
      printExperiment(experiment, out)
      printTable(
        out,
        ['STATE', 'SCORE', 'COST', 'TIME', 'SESSION', 'CASE'],
        (await allResults(client, experiment.id)).map(resultRow),
        { dropFirst: ['SESSION', 'TIME'] },
      )
      return undefined
    },
    examples: ['switchyard experiments show exp_0199'],
  })
  addCompare(group, registry)
  addRouteCommand(group, registry, {
    name: 'cancel',
    route: experimentRoutes.cancel,
    args: [which],
    show: done(({ id, state }) => `${id} is ${state}`),
    examples: ['switchyard experiments cancel exp_0199'],
  })
  addRouteCommand(group, registry, {
    name: 'rm',
    route: experimentRoutes.remove,
    text: 'delete an experiment with its results; its sessions stay',
    args: [which],
    destroys: ([id]) => `delete experiment ${id} with its results`,
    show: done((_, [id]) => `deleted ${id}`),
    examples: ['switchyard experiments rm exp_0199 --yes'],
  })
}

function addRun(group: Command, registry: Registry): void {
  addRouteCommand(group, registry, {
    name: 'run',
    route: experimentRoutes.create,
    text: 'run an agent or a model on a dataset; with --json --wait the last line is the experiment at its end',
    args: [{ field: 'dataset_id', name: 'dataset', text: 'id or name of the dataset', finder: datasetFinder }],
    fields: [
      { field: 'agent_id', flag: 'agent', text: 'agent to run', finder: agentFinder },
      { field: 'agent_version' },
      { field: 'model' },
      { field: 'system' },
      { field: 'name' },
      { field: 'replay' },
      { field: 'max_parallel' },
      { field: 'max_budget_usd', flag: 'max-budget' },
      { field: 'case_budget_usd', flag: 'case-budget' },
      { field: 'judge_budget_usd', flag: 'judge-budget' },
      { field: 'case_timeout_seconds', flag: 'case-timeout' },
    ],
    extend: command => {
      command
        .option('--wait', 'wait for the end, and exit with 1 unless the experiment came to its end')
        .option('--fail-under <share>', 'with --wait: exit with 1 when fewer cases pass, such as 0.9', share)
    },
    show: async (experiment, { client, out, options }) => {
      const { wait = false, failUnder } = options as { wait?: boolean; failUnder?: number }
      if (!wait && failUnder === undefined) return printId(experiment, out)
      out.note(dim(`started ${experiment.id}`))
      const ended = await waitForExperiment(client, experiment, { out, stop: registry.world.stop })
      out.data(ended)
      if (!out.isJson) printExperiment(ended, out)
      return codeOf(ended, failUnder)
    },
    examples: [
      'switchyard experiments run support --agent ada --wait --fail-under 0.9',
      'switchyard experiments run support --agent ada --agent-version 3 --replay',
      'switchyard experiments run support --model anthropic/claude-sonnet-5 --max-budget 2',
    ],
  })
}

const printId = ({ id }: Experiment, out: Out): undefined => out.line(id) as undefined

function codeOf({ state, pass_rate }: Experiment, failUnder = 0): ExitCode {
  return state === 'done' && (pass_rate ?? 0) >= failUnder ? exitCodes.ok : exitCodes.failed
}

function addCompare(group: Command, registry: Registry): void {
  addRouteCommand(group, registry, {
    name: 'compare',
    route: experimentRoutes.compare,
    text: 'compare an experiment with an earlier one, case by case',
    args: [which],
    fields: [{ field: 'with', text: 'the earlier experiment; default: the one before it', finder: experimentFinder }],
    extend: command => {
      command.option('--fail-on-worse', 'exit with 1 when a case passed before and does not pass now')
    },
    show: (comparison, { out, options }) => {
      if (!out.isJson) printComparison(comparison, out)
      return options['failOnWorse'] === true && comparison.totals.worse > 0 ? exitCodes.failed : exitCodes.ok
    },
    examples: [
      'switchyard experiments compare exp_0200 --with exp_0199',
      'switchyard experiments compare exp_0200 --fail-on-worse',
    ],
  })
}

function printExperiment(experiment: Experiment, out: Out): void {
  const { counts, pass_rate, score, cost_usd, judge_cost_usd, ...rest } = experiment
  const { total, ...others } = counts
  const states = Object.entries(others).flatMap(([state, count]) => (count > 0 ? [`${count} ${state}`] : []))
  printFields(out, {
    ...rest,
    cases: `${total}: ${states.join(', ')}`,
    pass_rate: shareText(pass_rate),
    score: shareText(score),
    cost: usdText(cost_usd),
    judge_cost: judge_cost_usd === null ? null : usdText(judge_cost_usd),
  })
}

function printComparison({ base, other, totals, agent_changes, cases }: ExperimentComparison, out: Out): void {
  const changed = cases.filter(({ change }) => change !== 'same')
  if (changed.length > 0) {
    const headings = ['CHANGE', 'BEFORE', 'NOW', 'SCORE', 'COST', 'CASE']
    printTable(out, headings, changed.map(comparisonRow), { dropFirst: ['COST', 'SCORE'] })
  }
  for (const { field } of agent_changes ?? []) out.line(dim(`changed in the agent: ${plainLine(field, 200)}`))
  const { worse, better, same } = totals
  printFields(out, {
    base: `${base.id} ${base.name}`,
    other: `${other.id} ${other.name}`,
    cases: `${worse} worse, ${better} better, ${same} the same`,
    pass_rate: `${shareText(base.pass_rate)} -> ${shareText(other.pass_rate)}`,
    score: `${shareText(base.score)} -> ${shareText(other.score)}`,
    cost: `${usdText(base.cost_usd)} -> ${usdText(other.cost_usd)}`,
  })
}

const comparisonRow = ({ change, base, other, score_change, cost_change_usd, name }: CaseComparison): string[] => [
  change,
  base?.state ?? '-',
  other?.state ?? '-',
  score_change === null ? '-' : signed(score_change, 2),
  cost_change_usd === null ? '-' : signed(cost_change_usd, 4),
  plainLine(name, 100),
]

const resultRow = ({ state, error, score, cost_usd, duration_ms, session_id, name }: ExperimentCase): string[] => [
  error ? error.type : state,
  shareText(score),
  usdText(cost_usd),
  duration_ms === null ? '-' : elapsedText(duration_ms),
  session_id ?? '-',
  plainLine(name, 100),
]

async function allResults(client: Client, experiment_id: string): Promise<ExperimentCase[]> {
  const all: ExperimentCase[] = []
  for (let cursor: string | undefined; ; ) {
    const query = { limit: 200, ...(cursor !== undefined && { cursor }) }
    const page = await client.experiments.cases({ params: { experiment_id }, query })
    all.push(...page.cases)
    if (page.next_cursor === null) return all
    cursor = page.next_cursor
  }
}

const shareText = (value: number | null): string => (value === null ? '-' : value.toFixed(2))
const usdText = (value: number | null): string => (value === null ? 'unknown' : `$${value.toFixed(4)}`)
const signed = (value: number, digits: number): string => `${value < 0 ? '' : '+'}${value.toFixed(digits)}`
