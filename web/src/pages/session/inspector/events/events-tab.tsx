import { useMemo } from 'react'
import { useAddress } from '../../../../parts/address.ts'
import { JsonBlock } from '../../../../parts/code.tsx'
import { Id } from '../../../../parts/copy.tsx'
import { Time } from '../../../../parts/figures.tsx'
import { ChoiceFilter } from '../../../../parts/filters.tsx'
import { NoMatch } from '../../../../parts/page-state.tsx'
import type { InspectorProps } from '../inspector-props.ts'
import { PartialLog } from '../partial-log.tsx'
import { EventList } from './event-list.tsx'
import { typesOf } from './event-types.ts'
import css from './events.module.css'

/** The stored events as they are, with the content of the selected one. The selection is that of the transcript. */
export function EventsTab({ view, selection, onLoadAll, isLoadingOlder }: InspectorProps) {
  const [{ type }, setAddress] = useAddress<'type'>()
  const { log } = view
  const all = useMemo(() => log.toArray(), [log])
  const types = useMemo(() => typesOf(all), [all])
  const events = useMemo(() => (type === undefined ? all : all.filter(event => event.type === type)), [all, type])
  const selected = selection.eventId === undefined ? undefined : log.byId(selection.eventId)
  return (
    <div className={css.tab}>
      <div className={css.bar}>
        <ChoiceFilter
          label="Event type"
          value={type}
          options={types.map(({ name, count }) => ({ value: name, label: `${name} (${count})` }))}
          onChange={next => setAddress({ type: next })}
        />
        <PartialLog view={view} isLoadingOlder={isLoadingOlder} onLoadAll={onLoadAll} />
      </div>
      {events.length === 0 && type !== undefined ? (
        <NoMatch what="events" onClear={() => setAddress({ type: undefined })} />
      ) : (
        <EventList events={events} selectedId={selection.eventId} onSelect={selection.select} />
      )}
      {selected && (
        <section className={css.details} aria-label="Selected event">
          <div className={css.detailsHead}>
            <span className="mono">{selected.type}</span>
            <Id id={selected.id} what="event id" />
            <Time at={selected.processed_at} />
          </div>
          <JsonBlock key={selected.id} value={selected} what="event" />
        </section>
      )}
    </div>
  )
}
