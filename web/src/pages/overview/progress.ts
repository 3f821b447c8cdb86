import { useLocalStorage } from '@mantine/hooks'
import { useQuery } from '@tanstack/react-query'
import { client } from '../../data/client.ts'
import { useIsAdmin, useMayChange } from '../../data/sign-in.tsx'

export const stepNames = ['model', 'agent', 'session', 'key', 'webhook'] as const
export type StepName = (typeof stepNames)[number]

/** Which steps of the first run are done or skipped. */
export interface Progress {
  readonly isLoading: boolean
  /** True while nothing was created and the set-up was not skipped: then it takes the whole page. */
  readonly isNew: boolean
  readonly isDone: boolean
  readonly done: Readonly<Record<StepName, boolean>>
  readonly agentId: string | undefined
  skip(step: StepName): void
  skipAll(): void
}

/** Reads once what exists already. */
async function readState(isAdmin: boolean) {
  const [agents, sessions, providers, keys, deliveries] = await Promise.all([
    client.agents.list({ query: { limit: 1 } }),
    client.sessions.list({ query: { limit: 1 } }),
    isAdmin ? client.providers.list() : undefined,
    isAdmin ? client.keys.list({ query: { limit: 1 } }) : undefined,
    client.webhooks.list({ query: { limit: 1 } }),
  ])
  return {
    agentId: agents.agents[0]?.id,
    model: providers === undefined || providers.providers.some(({ connected }) => connected),
    agent: agents.agents.length > 0,
    session: sessions.length > 0,
    key: keys === undefined || keys.keys.length > 0,
    webhook: deliveries.deliveries.length > 0,
  }
}

export const progressKey = ['first-run'] as const

/** Returns the steps of the first run, of which viewers have none. What a person skipped is remembered in this browser. */
export function useProgress(): Progress {
  const isAdmin = useIsAdmin()
  const mayChange = useMayChange()
  const { data, isLoading } = useQuery({
    queryKey: [...progressKey, isAdmin],
    queryFn: () => readState(isAdmin),
    enabled: mayChange,
  })
  const [skipped, setSkipped] = useLocalStorage<readonly StepName[]>({
    key: 'switchyard-skipped-steps',
    defaultValue: [],
    getInitialValueInEffect: false,
  })
  const isDoneStep = (step: StepName): boolean => data?.[step] === true || skipped.includes(step)
  const done = Object.fromEntries(stepNames.map(step => [step, isDoneStep(step)])) as Record<StepName, boolean>
  return {
    isLoading,
    isNew: data !== undefined && !data.session && !skipped.includes('session'),
    isDone: data === undefined || stepNames.every(isDoneStep),
    done,
    agentId: data?.agentId,
    skip: step => setSkipped([...skipped, step]),
    skipAll: () => setSkipped(stepNames),
  }
}
