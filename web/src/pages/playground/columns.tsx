import { type Ref, useState } from 'react'
import { Column } from './column.tsx'
import { CopyCode } from './copy-code.tsx'
import css from './playground.module.css'
import { SaveAgent } from './save-agent.tsx'
import type { Run, Runs } from './use-runs.ts'
import type { Format, PlaygroundForm } from './wire/form.ts'
import { bodyOf } from './wire/request.ts'

interface Props {
  readonly ref: Ref<HTMLDivElement>
  readonly form: PlaygroundForm
  readonly format: Format
  readonly models: readonly string[]
  /** Names that a column can have. */
  readonly names: readonly string[]
  readonly runs: Runs
  /** Why the form makes no request now. */
  readonly problem: string | undefined
  readonly onModels: (models: readonly string[]) => void
  readonly onUse: (run: Run) => void
}

interface Dialog {
  readonly kind: 'copy' | 'save'
  readonly model: string
}

/** The models beside each other, and what can be made of the request of one. */
export function Columns({ ref, form, format, models, names, runs, problem, onModels, onUse }: Props) {
  const [dialog, setDialog] = useState<Dialog>()
  const close = () => setDialog(undefined)
  const remove = (at: number) => {
    runs.remove(at)
    onModels(models.filter((_, index) => index !== at))
  }
  return (
    <div className={css.columns} ref={ref}>
      {models
        .map((model, at) => ({ model, at }))
        .map(({ model, at }) => (
          <Column
            key={at}
            number={at + 1}
            model={model}
            format={format}
            names={names}
            run={runs.all[at]}
            problem={problem}
            onModel={next => onModels(models.map((each, index) => (index === at ? next : each)))}
            onRemove={models.length === 1 || runs.isRunning ? undefined : () => remove(at)}
            onStop={() => runs.stop(at)}
            onUse={onUse}
            onCopy={() => setDialog({ kind: 'copy', model })}
            onSave={() => setDialog({ kind: 'save', model })}
          />
        ))}
      {dialog?.kind === 'copy' && (
        <CopyCode format={format} body={bodyOf(form, format, dialog.model)} onClose={close} />
      )}
      {dialog?.kind === 'save' && <SaveAgent form={form} format={format} model={dialog.model} onClose={close} />}
    </div>
  )
}
