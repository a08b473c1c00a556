-- Targets that are chats: they set a pace, and may move.
alter table forward.target add column paced_until timestamptz;
alter table forward.target add column moved_from text;
alter table forward.target add column moved_to text;
comment on column forward.target.held_until is 'Nothing is sent before: it asked for a wait';
comment on column forward.target.paced_until is 'Nothing is sent before: its pace; what is due waits within the pass';
comment on column forward.target.moved_from is 'The address in the configuration that moved_to stands for';
comment on column forward.target.moved_to is 'Where it is now, by its own word; counts while moved_from is configured';
