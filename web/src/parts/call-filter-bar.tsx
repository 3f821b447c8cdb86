import { useQuery } from '@tanstack/react-query'
import { client } from '../data/client.ts'
import { useNames } from '../data/names.ts'
import { useIsAdmin } from '../data/sign-in.tsx'
import { useAddress } from './address.ts'
import { type CallFilterName, type CallFilters, callFiltersOf, withoutCallFilters } from './call-filters.ts'
import { ChoiceFilter, FilterChips } from './filters.tsx'
import { shortId } from './format.ts'

/** Values that occur in calls of the last 30 days. */
const usedValues = {
  queryKey: ['usage', 'used-values'],
  queryFn: async () => {
    const { groups } = await client.usage.report({ query: { group_by: 'model,provider', limit: 1000 } })
    const valuesOf = (name: string) => [...new Set(groups.flatMap(({ by }) => by[name] || []))].sort()
    return { models: valuesOf('model'), providers: valuesOf('provider') }
  },
  staleTime: 60_000,
}

const outcomes = ['completed', 'failed', 'aborted', 'lost']

const optionsOf = (names: ReadonlyMap<string, string>) => [...names].map(([value, label]) => ({ value, label }))

interface Choice {
  readonly name: CallFilterName
  readonly label: string
  readonly options: readonly (string | { readonly value: string; readonly label: string })[]
}

/** Adds the value of the address, which the list of choices may lack. */
function withValue({ options, ...choice }: Choice, value: string | undefined): Choice {
  const isListed = options.some(option => (typeof option === 'string' ? option : option.value) === value)
  return { ...choice, options: value === undefined || isListed ? options : [...options, value] }
}

interface Props {
  /** Filters that the page shows in fields of its own. */
  readonly elsewhere?: readonly CallFilterName[]
}

/** Filters of model calls. Those without a choice or a field, which links set, are chips. */
export function CallFilterBar({ elsewhere = [] }: Props) {
  const [address, setAddress] = useAddress<CallFilterName>()
  const isAdmin = useIsAdmin()
  const names = useNames()
  const { data: used } = useQuery(usedValues)
  const choices: readonly Choice[] = [
    { name: 'model', label: 'Model', options: used?.models ?? [] },
    { name: 'provider', label: 'Provider', options: used?.providers ?? [] },
    ...(isAdmin ? [{ name: 'key_id', label: 'Key', options: optionsOf(names.keys) } as const] : []),
    { name: 'agent_id', label: 'Agent', options: optionsOf(names.agents) },
    { name: 'outcome', label: 'Outcome', options: outcomes },
  ]
  const chosen = new Set<string>([...elsewhere, ...choices.map(({ name }) => name)])
  const filters = callFiltersOf(address)
  return (
    <>
      {choices
        .map(choice => withValue(choice, filters[choice.name]))
        .map(({ name, label, options }) => (
          <ChoiceFilter
            key={name}
            label={label}
            value={filters[name]}
            options={options}
            onChange={value => setAddress({ [name]: value })}
          />
        ))}
      <FilterChips
        active={otherFilters(filters, chosen)}
        onRemove={name => setAddress({ [name]: undefined })}
        onClear={() => setAddress(withoutCallFilters)}
      />
    </>
  )
}

const otherFilters = (filters: CallFilters, chosen: ReadonlySet<string>) =>
  Object.fromEntries(
    Object.entries(filters)
      .filter(([name]) => !chosen.has(name))
      .map(([name, value]) => [name, name === 'session_id' ? shortId(value) : value]),
  )
