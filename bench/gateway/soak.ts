import { residentMib } from '../process-figures.ts'
import { median, rounded } from '../statistics.ts'
import { type Mode, startSwitchyard } from './contenders.ts'
import type { Figure } from './figures.ts'
import { type GatewayLoad, type LoadResult, sendGatewayLoad } from './gateway-load.ts'
import type { Setting } from './running.ts'

const sampleMs = 5_000
const soaked: readonly { readonly mode: Mode; readonly load: Omit<GatewayLoad, 'calls' | 'durationMs'> }[] = [
  { mode: 'passthrough', load: { kind: 'json', bodyBytes: 2_500, connections: 8, thinkMs: 20 } },
  { mode: 'translation', load: { kind: 'json', bodyBytes: 2_500, connections: 8, thinkMs: 20 } },
  { mode: 'passthrough', load: { kind: 'json', bodyBytes: 305_000, connections: 2, thinkMs: 100 } },
  { mode: 'passthrough', load: { kind: 'paced', bodyBytes: 2_500, connections: 100 } },
  { mode: 'translation', load: { kind: 'paced', bodyBytes: 2_500, connections: 100 } },
  { mode: 'passthrough', load: { kind: 'burst', bodyBytes: 2_500, connections: 2, thinkMs: 100 } },
  { mode: 'translation', load: { kind: 'burst', bodyBytes: 2_500, connections: 2, thinkMs: 100 } },
]

interface Options {
  readonly setting: Setting
  readonly minutes: number
  readonly log: (line: string) => void
}

/** What a soak brought. */
export interface Soak {
  readonly figures: readonly Figure[]
  /** Memory of the gateway in MiB, one value each five seconds. */
  readonly residentMib: readonly number[]
  /** Loads that could not continue, with the reason. */
  readonly failures: readonly string[]
}

/** Mixed load on both modes of one process. */
export async function runSoak({ setting, minutes, log }: Options): Promise<Soak> {
  const running = await startSwitchyard('bench')(setting)
  const samples: number[] = []
  const timer = setInterval(() => {
    samples.push(residentMib(running.pid ?? 0))
    if (samples.length % 12 === 0) log(`${samples.length / 12} min: ${rounded(samples.at(-1) ?? Number.NaN)} MiB`)
  }, sampleMs)
  try {
    const sent = soaked.map(({ mode, load }) => {
      const endpoint = running.endpoint(load.kind)
      const model = mode === 'passthrough' ? endpoint.model : `chat/${load.kind}`
      return sendGatewayLoad({ ...endpoint, model }, { ...load, durationMs: minutes * 60_000 }, setting.folder)
    })
    const settled = await Promise.allSettled(sent)
    const done = settled.flatMap(result => (result.status === 'fulfilled' ? [result.value] : []))
    const failures = settled.flatMap((result, at) =>
      result.status === 'rejected' ? [`${soaked[at]?.mode} ${soaked[at]?.load.kind}: ${result.reason}`] : [],
    )
    return { figures: figuresOf({ samples, done, failures }), residentMib: samples, failures }
  } finally {
    clearInterval(timer)
    await running.stop()
  }
}

interface Found {
  readonly samples: readonly number[]
  readonly done: readonly LoadResult[]
  readonly failures: readonly string[]
}

function figuresOf({ samples, done, failures }: Found): Figure[] {
  const sum = (count: (result: LoadResult) => number): number => done.reduce((total, each) => total + count(each), 0)
  const calls = sum(each => each.calls)
  const faults = [...failures, ...done.flatMap(({ fault }) => fault ?? [])]
  const none = { is: 'at most', target: 0 } as const
  return [
    growthOf(samples),
    {
      name: 'soak: calls without a whole answer, and loads that broke off',
      value: sum(each => each.broken) + failures.length,
      unit: '',
      goal: none,
      detail: `of ${calls} calls${faults.length === 0 ? '' : `: ${faults.join('; ')}`}`,
    },
    { name: 'soak: lost events', value: sum(each => each.lostEvents), unit: '', goal: none, detail: `${calls} calls` },
    { name: 'soak: stalled events', value: sum(each => each.stalls), unit: '', detail: 'later by 200 ms or more' },
  ]
}

/** Memory of the last fifth against that of the second one, when everything is warm: of ten minutes, the last two against two to four. */
function growthOf(samples: readonly number[]): Figure {
  const part = (from: number, to: number): number =>
    median(samples.slice(Math.floor(samples.length * from), Math.ceil(samples.length * to)))
  const [early, late] = [part(0.2, 0.4), part(0.8, 1)]
  return {
    name: 'soak: memory, end / beginning',
    value: late / early,
    unit: '',
    goal: { is: 'at most', target: 1.1 },
    detail: `${rounded(late)} / ${rounded(early)} MiB, medians of the last and the second fifth; most ${rounded(Math.max(...samples))}`,
  }
}
