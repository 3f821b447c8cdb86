import { SegmentedControl } from '@mantine/core'
import { oneOf, useAddress } from '../../parts/address.ts'
import { Page } from '../../parts/page.tsx'
import { SessionsPart } from './sessions/sessions-part.tsx'
import { VersionsPart } from './versions/versions-part.tsx'

const kinds = ['sessions', 'versions'] as const

const titles = [
  { value: 'sessions', label: 'Two sessions' },
  { value: 'versions', label: 'Two versions of an agent' },
]

/** Two sessions or two versions of an agent side by side. The address has both as `a` and `b`. */
export function ComparePage() {
  const [{ of }, setAddress] = useAddress<'of' | 'agent' | 'a' | 'b'>()
  const kind = oneOf(of, kinds)
  return (
    <Page
      title="Compare"
      isScrolling
      toolbar={
        <SegmentedControl
          size="xs"
          aria-label="What to compare"
          data={titles}
          value={kind}
          onChange={next =>
            setAddress({ of: next === kinds[0] ? undefined : next, agent: undefined, a: undefined, b: undefined })
          }
        />
      }
    >
      {kind === 'sessions' ? <SessionsPart /> : <VersionsPart />}
    </Page>
  )
}
