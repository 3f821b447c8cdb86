import '@mantine/spotlight/styles.css'
import { Spotlight } from '@mantine/spotlight'
import { IconSearch } from '@tabler/icons-react'
import { useDeferredValue, useState } from 'react'
import { useMayChange } from '../data/sign-in.tsx'
import { Deferred } from '../parts/deferred.tsx'
import { PaletteResults } from './palette-results.tsx'

/** The command palette: pages, actions, agents and sessions; a pasted id jumps to its object. Viewers get no actions. */
export function Palette() {
  const mayChange = useMayChange()
  const [query, setQuery] = useState('')
  // Typing stays quick while the results are drawn.
  const shown = useDeferredValue(query)
  return (
    <Spotlight.Root
      shortcut={['mod + K']}
      query={query}
      onQueryChange={setQuery}
      scrollable
      maxHeight={420}
      // Without the blur of the kit, which is drawn again for each key.
      overlayProps={{ blur: 0 }}
    >
      <Spotlight.Search
        leftSection={<IconSearch size={16} />}
        placeholder={mayChange ? 'Page, action, name or id' : 'Page, name or id'}
        aria-label="Search"
      />
      <Spotlight.ActionsList>
        <Deferred>
          <PaletteResults query={shown} />
        </Deferred>
      </Spotlight.ActionsList>
    </Spotlight.Root>
  )
}
