import { setTimeout as sleep } from 'node:timers/promises'
import type { Client } from '../../client/client.ts'
import type { Experiment } from '../../contract/experiments.ts'
import { exitCodes } from '../exit-codes.ts'
import { CommandFailed } from '../failures.ts'
import { dim, type Out } from '../out.ts'

interface Waiting {
  readonly out: Out
  /** Aborts on Ctrl-C; the experiment continues. */
  readonly stop: AbortSignal
}

const periodMs = 1_000

/** Waits for the end of an experiment and reports its progress. */
export async function waitForExperiment(
  client: Client,
  started: Experiment,
  { out, stop }: Waiting,
): Promise<Experiment> {
  let last = ''
  for (let experiment = started; ; ) {
    const { counts, ended_at } = experiment
    const over = counts.total - counts.waiting - counts.running
    const progress = `${over} of ${counts.total} cases have ended, ${counts.passed} passed`
    if (progress !== last) out.note(dim(progress))
    last = progress
    if (ended_at !== null) return experiment
    await sleep(periodMs, undefined, { signal: stop }).catch(() => {
      throw new CommandFailed(`stopped waiting; ${experiment.id} continues`, exitCodes.interrupted)
    })
    experiment = await client.experiments.get({ params: { experiment_id: experiment.id } })
  }
}
