import { Button, Group } from '@mantine/core'
import { IconDownload } from '@tabler/icons-react'
import type { ListedCheckpoint } from '../../../../../../src/contract/files.ts'
import { useSubmit } from '../../../../data/submit.ts'
import { useAddress } from '../../../../parts/address.ts'
import { ProblemLine } from '../../../../parts/page-state.tsx'
import { OpenFile } from './file-content.tsx'
import { FileTree } from './file-tree.tsx'
import { MomentSelect } from './moment-select.tsx'
import { openArchive } from './queries.ts'
import { saveResponse } from './save.ts'

interface Props {
  readonly sessionId: string
  readonly checkpoints: readonly ListedCheckpoint[]
}

/** The files as a tree, as of the last step or of an earlier one. */
export function Workspace({ sessionId, checkpoints }: Props) {
  const [{ path, at }, setAddress] = useAddress<'path' | 'at'>()
  const moment = { sessionId, at }
  const archive = useSubmit(async () => saveResponse(`${sessionId}.tar.gz`, await openArchive(moment)))
  return (
    <>
      <MomentSelect
        label="Files as of"
        first="The last step"
        checkpoints={checkpoints}
        value={at}
        onChange={next => setAddress({ at: next })}
      />
      <Group justify="flex-end" mt={4}>
        <Button
          variant="subtle"
          size="compact-xs"
          leftSection={<IconDownload size={14} aria-hidden />}
          loading={archive.isRunning}
          onClick={() => void archive.send()}
        >
          Download all files
        </Button>
      </Group>
      <ProblemLine error={archive.error} />
      <FileTree moment={moment} opened={path} onOpen={file => setAddress({ path: file.path })} />
      {path !== undefined && <OpenFile key={path} moment={moment} path={path} />}
    </>
  )
}
