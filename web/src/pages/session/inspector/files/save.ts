import { saveFile } from '../../../../parts/save-file.ts'

/** Saves the body of a response as a file of the person. */
export async function saveResponse(name: string, response: Response): Promise<void> {
  const content = await response.blob()
  saveFile(name, content, content.type)
}
