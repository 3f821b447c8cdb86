import { Button, Switch } from '@mantine/core'
import { IconDownload } from '@tabler/icons-react'
import { useQuery } from '@tanstack/react-query'
import { useState } from 'react'
import { useSubmit } from '../../../../data/submit.ts'
import { CodeBlock } from '../../../../parts/code.tsx'
import { isPage, maxShownBytes } from '../../../../parts/file-kind.ts'
import { Loading, ProblemBlock, ProblemLine } from '../../../../parts/page-state.tsx'
import { SafeText } from '../../../../parts/safe-text.tsx'
import css from './files.module.css'
import { Preview } from './preview.tsx'
import { contentQuery, type Moment, openFile } from './queries.ts'
import { saveResponse } from './save.ts'

interface Props {
  readonly moment: Moment
  readonly path: string
}

/** A file with its content as source. Pages and drawings can be previewed in a frame without any right. */
export function OpenFile({ moment, path }: Props) {
  const name = path.slice(path.lastIndexOf('/') + 1)
  const [isPreview, setPreview] = useState(false)
  const download = useSubmit(async () => saveResponse(name, await openFile(moment, path)))
  return (
    <section className={css.file} aria-label={path}>
      <div className={css.fileHead}>
        <span className="mono">
          <SafeText text={path} />
        </span>
        <Button
          variant="subtle"
          size="compact-xs"
          leftSection={<IconDownload size={14} aria-hidden />}
          loading={download.isRunning}
          onClick={() => void download.send()}
        >
          Download file
        </Button>
      </div>
      <ProblemLine error={download.error} />
      {isPage(path) && (
        <Switch
          size="xs"
          mb={8}
          label="Preview"
          description="Without scripts, network, and styles that the page sets itself"
          checked={isPreview}
          onChange={({ currentTarget }) => setPreview(currentTarget.checked)}
        />
      )}
      <Content moment={moment} path={path} isPreview={isPreview} />
    </section>
  )
}

function Content({ moment, path, isPreview }: Props & { readonly isPreview: boolean }) {
  const { data, error, refetch } = useQuery(contentQuery(moment, path))
  if (error && !data) return <ProblemBlock error={error} what="load the file" retry={() => void refetch()} />
  if (!data) return <Loading lines={3} />
  if (!data.isText) return <p className="soft">Binary file; download it to open it</p>
  if (data.text === '') return <p className="soft">Empty file</p>
  if (isPreview) return <Preview text={data.text} path={path} />
  if (data.text.length > maxShownBytes) return <p className="soft">Larger than 1 MB; download the file to open it</p>
  return <CodeBlock text={data.text} what="file" maxLines={400} />
}
