import { Select, TextInput } from '@mantine/core'
import { useAddress } from './address.ts'
import { type DayRange, dayRangeOf, localZone, type RangeName, type RangeParameter } from './day-range.ts'

const labels: readonly { readonly value: RangeName; readonly label: string }[] = [
  { value: 'today', label: 'Today' },
  { value: '7d', label: 'Last 7 days' },
  { value: '30d', label: 'Last 30 days' },
  { value: 'custom', label: 'Custom range' },
]

const zones = [...new Set([localZone, 'UTC', ...Intl.supportedValuesOf('timeZone')])]

interface Props {
  /** What no choice means: `All time`; without it a range always applies. */
  readonly anyTime?: string
}

/** The days of a page and their time zone, as parameters of the address. */
export function RangeFilter({ anyTime }: Props) {
  const [address, setAddress] = useAddress<RangeParameter>()
  const range = dayRangeOf(address, Date.now())
  const isAny = anyTime !== undefined && address.range === undefined
  const choose = (name: string | null) => {
    const days = name === 'custom' ? { from: range.from, to: range.to } : { from: undefined, to: undefined }
    setAddress({ range: name ?? undefined, ...days })
  }
  return (
    <>
      <Select
        size="xs"
        w={140}
        aria-label="Range"
        data={[...labels]}
        placeholder={anyTime ?? ''}
        value={isAny ? null : range.name}
        onChange={choose}
        clearable={anyTime !== undefined && !isAny}
      />
      {!isAny && range.name === 'custom' && <Days range={range} />}
      {!isAny && (
        <Select
          size="xs"
          w={180}
          aria-label="Time zone of days"
          data={zones.includes(range.zone) ? zones : [range.zone, ...zones]}
          value={range.zone}
          onChange={zone => setAddress({ zone: zone === localZone ? undefined : (zone ?? undefined) })}
          searchable
          limit={60}
        />
      )}
    </>
  )
}

function Days({ range: { from, to } }: { readonly range: DayRange }) {
  const [, setAddress] = useAddress<RangeParameter>()
  const isReversed = from > to
  return (
    <>
      <TextInput
        type="date"
        size="xs"
        aria-label="First day"
        value={from}
        max={to}
        onChange={({ currentTarget: { value } }) => value !== '' && setAddress({ from: value })}
      />
      <TextInput
        type="date"
        size="xs"
        aria-label="Last day"
        value={to}
        min={from}
        error={isReversed && 'The last day is before the first day'}
        onChange={({ currentTarget: { value } }) => value !== '' && setAddress({ to: value })}
      />
    </>
  )
}
