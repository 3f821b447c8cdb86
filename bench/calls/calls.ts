import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import type { BenchCase, Figure, Place } from '../bench-case.ts'
import { startUpstream } from '../upstream/upstream.ts'
import { upstreamAnswers } from './answers.ts'
import { aliasOf, bareProxy, prepare, service } from './contenders.ts'
import { figuresOf } from './figures.ts'
import { checkOut, type OtherCommit, shortId } from './other-commit.ts'
import { bodyFile, runRounds } from './rounds.ts'
import { type Scenario, scenarios } from './scenarios.ts'

/** How the calls are measured. */
export interface CallsOptions {
  /** Another commit of this repository to compare with. */
  readonly against?: string
  /** Only scenarios whose name contains it. */
  readonly only?: string
  readonly rounds: number
  /** Length of a slice of load. */
  readonly seconds: number
}

const own = 'this tree'

/** CPU time of model calls: this tree beside a bare proxy and, if asked, another commit. */
export const modelCalls = ({ against, only = '', rounds, seconds }: CallsOptions): BenchCase => ({
  name: 'calls',
  title:
    `model calls through the gateway${against === undefined ? '' : `, against ${shortId(against)}`}; wrk and an upstream in C; ` +
    `CPU of all processes, database included; rounds: ${rounds}, of three slices of ${seconds} s, interleaved`,
  async run(place) {
    const chosen = scenarios.filter(({ name }) => name.includes(only))
    if (chosen.length === 0) throw new Error(`no scenario has "${only}" in its name`)
    const other = against === undefined ? undefined : checkOut(against, join(place.folder, 'other'))
    try {
      return await compare(chosen, { place, other, rounds, seconds })
    } finally {
      other?.remove()
    }
  },
})

interface Comparison extends Pick<CallsOptions, 'rounds' | 'seconds'> {
  readonly place: Place
  readonly other: OtherCommit | undefined
}

async function compare(chosen: readonly Scenario[], { place, other, rounds, seconds }: Comparison): Promise<Figure[]> {
  const { folder, log } = place
  for (const [at, { body, upstream }] of chosen.entries()) {
    await writeFile(bodyFile(folder, at), body(aliasOf(upstream)))
  }
  const upstream = await startUpstream(join(folder, 'upstream'), upstreamAnswers())
  try {
    const { origin } = upstream
    const services = [
      service({ name: own, upstream: origin, dataDir: join(folder, 'data-own') }),
      ...(other ? [service({ ...other, upstream: origin, dataDir: join(folder, 'data-other') })] : []),
    ]
    for (const each of services) await prepare(each)
    const proxy = bareProxy(origin)
    const contenders = [proxy, ...services]
    const samples = await runRounds({ contenders, scenarios: chosen, upstream, folder, rounds, seconds, log })
    const names = { own, proxy: proxy.name, ...(other && { other: other.name }) }
    return chosen.flatMap(scenario => figuresOf(scenario, names, samples))
  } finally {
    await upstream.stop()
  }
}
