-- people
CREATE TABLE people (
  id int
);

SELECT * FROM people;
