import { Button, Kbd, Select } from '@mantine/core'
import { IconPlayerStop, IconPlus, IconSend2 } from '@tabler/icons-react'
import { useQuery } from '@tanstack/react-query'
import { useRef, useState } from 'react'
import { modelNames } from '../../data/lists.ts'
import { oneOf, useAddress } from '../../parts/address.ts'
import { Confirm } from '../../parts/confirm.tsx'
import { ChangePage } from '../../parts/may-change.tsx'
import { Page } from '../../parts/page.tsx'
import { ProblemLine } from '../../parts/page-state.tsx'
import { Columns } from './columns.tsx'
import { maxColumns, readModels, writeModels } from './columns-address.ts'
import { InputPane } from './input-pane.tsx'
import { LoadCall } from './load-call.tsx'
import { LoadedNotice } from './loaded-notice.tsx'
import css from './playground.module.css'
import { usePlaygroundKeys } from './use-playground-keys.ts'
import { useRuns } from './use-runs.ts'
import { useStoredForm } from './use-stored-form.ts'
import { turnsAfter } from './wire/continue.ts'
import { emptyForm, formatNames, formats, type PlaygroundForm } from './wire/form.ts'
import type { LoadedCall } from './wire/load-form.ts'
import { bodyOf, formProblem } from './wire/request.ts'

interface Loaded {
  readonly requestId: string
  readonly notes: readonly string[]
  readonly before: PlaygroundForm
}

/** As in the style sheet. */
const stacked = '(max-width: 1000px)'

/** Calls up to three models with one input, and compares what they answer. */
export function PlaygroundPage() {
  return (
    <ChangePage title="Playground" right="Viewers cannot call models">
      <Playground />
    </ChangePage>
  )
}

function Playground() {
  const [address, setAddress] = useAddress<'models' | 'format' | 'call'>()
  const names = useQuery(modelNames)
  const { form, set, edit, isTooLarge } = useStoredForm()
  const runs = useRuns()
  const [loaded, setLoaded] = useState<Loaded>()
  const [isClearing, setClearing] = useState(false)
  const answers = useRef<HTMLDivElement>(null)
  const format = oneOf(address.format, formats)
  const [firstName = ''] = names.data ?? []
  const models = readModels(address.models ?? writeModels([firstName]))
  const setModels = (next: readonly string[]) => setAddress({ models: writeModels(next) })
  const missing = models.includes('') ? 'Choose a model for each column' : undefined
  const problem = missing ?? formProblem(form, format)

  const send = () => {
    if (problem !== undefined || runs.isRunning) return
    runs.start(models.map((model, column) => ({ column, model, format, body: bodyOf(form, format, model) })))
    // Where the answers are below the form, they would appear out of sight.
    if (window.matchMedia(stacked).matches) answers.current?.scrollIntoView()
  }
  usePlaygroundKeys({ send, stop: runs.isRunning ? () => runs.stop() : undefined })

  const load = ({ format: next, model, form: filled, notes }: LoadedCall, requestId: string) => {
    setLoaded({ requestId, notes, before: form })
    runs.clear()
    set(filled)
    setAddress({ call: undefined, models: writeModels([model]), format: next === formats[0] ? undefined : next })
  }

  return (
    <Page
      title="Playground"
      actions={
        <>
          <Button variant="subtle" onClick={() => setClearing(true)}>
            Clear playground
          </Button>
          <Button
            variant="default"
            leftSection={<IconPlus size={14} aria-hidden />}
            onClick={() => setModels([...models, names.data?.find(name => !models.includes(name)) ?? ''])}
            disabled={models.length === maxColumns}
          >
            Add model
          </Button>
          <Select
            size="xs"
            w={160}
            aria-label="Format of the requests"
            data={formats.map(value => ({ value, label: formatNames[value] }))}
            value={format}
            onChange={value => setAddress({ format: value === formats[0] ? undefined : (value ?? undefined) })}
          />
          {runs.isRunning ? (
            <Button color="red" leftSection={<IconPlayerStop size={14} aria-hidden />} onClick={() => runs.stop()}>
              Stop answers <Kbd className={css.kbd ?? ''}>Esc</Kbd>
            </Button>
          ) : (
            <Button leftSection={<IconSend2 size={14} aria-hidden />} onClick={send} disabled={problem !== undefined}>
              Send request <Kbd className={css.kbd ?? ''}>Ctrl Enter</Kbd>
            </Button>
          )}
        </>
      }
    >
      {address.call !== undefined && (
        <LoadCall
          key={address.call}
          requestId={address.call}
          onLoad={load}
          onClose={() => setAddress({ call: undefined })}
        />
      )}
      {loaded && (
        <LoadedNotice
          requestId={loaded.requestId}
          notes={loaded.notes}
          onRestore={() => {
            set(loaded.before)
            setLoaded(undefined)
          }}
          onClose={() => setLoaded(undefined)}
        />
      )}
      <ProblemLine error={names.error} retry={() => void names.refetch()} />
      <div className={css.layout}>
        <InputPane form={form} format={format} edit={edit} problem={problem} isTooLarge={isTooLarge} />
        <Columns
          ref={answers}
          form={form}
          format={format}
          models={models}
          names={names.data ?? []}
          runs={runs}
          problem={problem}
          onModels={setModels}
          onUse={({ answer }) => edit({ turns: turnsAfter(form.turns, answer) })}
        />
      </div>
      <Confirm
        isOpen={isClearing}
        onClose={() => setClearing(false)}
        question="Clear the playground?"
        consequence="The system prompt, all turns, the settings and the answers are removed from this page. Calls stay in the logs."
        action="Clear playground"
        run={async () => {
          runs.clear()
          set(emptyForm)
          setLoaded(undefined)
        }}
      />
    </Page>
  )
}
