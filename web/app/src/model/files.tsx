// The models of a repository, to choose one from: what was found at an address that the reader typed.
import { useEffect, useRef } from 'preact/hooks';
import { addressFacts, readAddress, type ModelFile } from '@sluice/engine';
import { bytes } from '../texts/format';
import { address as typed, openAddress } from './offer';
import { t } from '../texts';
import { Act, Away, StepButtons } from './step-buttons';
import { anotherTexts } from './another-texts';
import { Found } from './found';
import { HUB, atHub, searchPage } from './hub';
import { outlookOf } from './learn';
import { closeSheet } from './open';
import { lookAt, type Look } from './probe';
import { speedShort } from './speed';
import { isDenied } from './steps';
import { usualOf } from './usual';
import { modelsTexts } from './models-texts';

export function AtRepository(look: Look) {
  const { address, files, failure } = look;
  const words = anotherTexts.value;
  const heading = useRef<HTMLHeadingElement>(null);
  const came = files !== null || failure !== null;
  // The answer is below the field: it comes into sight, and is where the keyboard goes on.
  useEffect(() => {
    if (!came) return;
    heading.current?.focus({ preventScroll: true });
    heading.current?.closest('section')?.scrollIntoView({ block: 'nearest' });
  }, [came, address]);
  const title =
    failure !== null
      ? whyIn(look)
      : files?.length === 0
        ? words.none
        : words.files(nameOf(address));
  return (
    <section class="found" aria-label={words.found}>
      {came ? (
        <h4 ref={heading} tabIndex={-1}>
          {title}
        </h4>
      ) : (
        <p class="note" role="status">
          {words.asking(addressFacts(address).host)}
        </p>
      )}
      {failure !== null && <Failed {...look} />}
      {files?.length === 0 && <None address={address} />}
      {files !== null && files.length > 0 && <Files files={files} />}
    </section>
  );
}

/** The hub says the same of a model that isn't there, and of one that needs an account. */
function whyIn({ address, failure }: Look): string {
  const words = anotherTexts.value;
  if (failure === null) return '';
  if (isDenied(failure)) return words.account(addressFacts(address).host);
  return failure.facts.status === 404 ? words.missing(addressFacts(address).host) : failure.title;
}

function Failed({ address, failure }: Look) {
  const words = anotherTexts.value;
  if (failure === null) return null;
  const denied = isDenied(failure);
  const spelling = denied || failure.facts.status === 404;
  return (
    <>
      {spelling ? (
        <p class="note">
          {words.spelling} <bdi class="path">{nameOf(address)}</bdi>
        </p>
      ) : (
        <p class="note">
          <Found {...failure} />
          {failure.advice !== '' && ` ${failure.advice}`}
        </p>
      )}
      {denied && <p class="note">{words.accountAdvice}</p>}
      <div class="buttons">
        {!spelling && (
          <Act label={modelsTexts.value.notices.tryAgain} stays onClick={() => lookAt(address)} />
        )}
        <StepButtons of={failure} address={address} atField />
      </div>
    </>
  );
}

/** Nothing that this page can open: the same model is often kept beside, in the right form. */
function None({ address }: { address: string }) {
  const words = anotherTexts.value;
  const at = atHub(address);
  const beside =
    at === null || /gguf$/i.test(at.name) ? null : `${at.owner}/${at.name.slice(0, 91)}-GGUF`;
  return (
    <>
      <p class="note">{words.noneAdvice}</p>
      <div class="buttons">
        {beside !== null && (
          <Act
            label={words.lookAt(beside)}
            stays
            onClick={() => {
              typed.value = beside;
              const read = readAddress(beside);
              if ('address' in read) lookAt(read.address);
            }}
          />
        )}
        {at !== null && <Away to={searchPage(at.name)}>{words.search(HUB, at.name)}</Away>}
      </div>
    </>
  );
}

function Files({ files }: { files: ModelFile[] }) {
  const usual = usualOf(
    files,
    ({ address, bytes: size }) => outlookOf({ source: address, bytes: size })?.fits !== false,
  );
  const rank = (file: ModelFile): number => (file === usual ? -1 : file.bytes);
  return (
    <ul class="files">
      {[...files]
        .sort((a, b) => rank(a) - rank(b))
        .map((file) => (
          <FileRow key={file.name} file={file} usual={file === usual} />
        ))}
    </ul>
  );
}

function FileRow({ file, usual }: { file: ModelFile; usual: boolean }) {
  const { another, speed } = modelsTexts.value;
  const words = anotherTexts.value;
  const outlook = outlookOf({ source: file.address, bytes: file.bytes });
  const name = file.type || file.name.split('/').at(-1) || file.name;
  const facts = [
    file.bytes > 0 ? bytes(file.bytes) : '',
    file.parts > 1 ? words.parts(file.parts) : '',
    outlook === null ? '' : outlook.fits ? speed.fits : speed.fitsPartly,
    speedShort(outlook?.speed ?? null),
  ].filter((fact) => fact !== '');
  const does = file.bytes > 0 ? another.download(bytes(file.bytes)) : words.load;
  return (
    <li class={outlook?.fits === false ? 'large' : ''}>
      <span class="about">
        {usual && <span class="suits">{words.recommended}</span>}
        <bdi class="type">{name}</bdi>
        <span class="note">{facts.join(', ')}</span>
        {file.type !== '' && <bdi class="note path">{file.name}</bdi>}
      </span>
      <button
        type="button"
        class={usual ? 'secondary usual' : 'secondary'}
        aria-label={t.value.page.named(does, name)}
        onClick={() => {
          if (openAddress(file.address)) closeSheet();
        }}
      >
        {does}
      </button>
    </li>
  );
}

/** owner/repo of an address that stands for a repository. */
function nameOf(address: string): string {
  const at = atHub(address);
  return at === null ? address : `${at.owner}/${at.name}`;
}
